import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';

/** Properties of a metric that alerts and dashboard may use. */
export interface Metric {
  readonly kind: 'counter' | 'gauge';
  readonly labels: ReadonlySet<string>;
  /** Each replica reports the same value of the whole platform. */
  readonly wholePlatform?: boolean;
}
export type Metrics = ReadonlyMap<string, Metric>;

/** The source of the processes, without tests. */
export function platformSources(): string[] {
  return ['services', 'gateway']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(folder, file),
      ),
    )
    .filter(
      (file) => file.endsWith('.ts') && file.includes('/src/') && !/node_modules|\.test\.ts$/.test(file),
    )
    .map((file) => readFileSync(join(root, file), 'utf8'));
}

/** Labels that Prometheus gives to each series of a target, by the ServiceMonitor. */
const targetLabels = ['namespace', 'release', 'pod', 'container', 'endpoint', 'job', 'instance'];

/** The text of the object literal with its opening brace at `from`. */
function objectAt(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return text.slice(from, at + 1);
  }
  return text.slice(from);
}

/** The metrics that a source file defines. */
export function metricsOf(text: string): [string, Metric][] {
  return [...text.matchAll(/new (Counter|Gauge|Histogram)(?:<[^(]*>)?\((?=\{)/g)].flatMap((made) => {
    const object = objectAt(text, made.index + made[0].length);
    const name = (/\bname: '(\w+)'/.exec(object) ?? /\bconst name = '(\w+)'/.exec(text))?.[1];
    const names =
      /\blabelNames: \[([^\]]*)\]/.exec(object) ??
      (/\blabelNames\b/.test(object) ? /\bconst labelNames = \[([^\]]*)\]/.exec(text) : ['', '']);
    if (!name || !names) throw new Error(`name or labels not seen: ${object}`);
    // The registry adds the label `service`.
    const own = [...(names[1] as string).matchAll(/'(\w+)'/g)].map(([, label]) => label as string);
    const labels = [...own, 'service', ...targetLabels];
    const wholePlatform = object.includes(' Whole platform: use max, not sum.');
    const metric = (kind: Metric['kind'], more: string[] = []): Metric => {
      return { kind, labels: new Set([...labels, ...more]), wholePlatform };
    };
    if (made[1] !== 'Histogram') return [[name, metric(made[1] === 'Counter' ? 'counter' : 'gauge')]];
    return [
      [`${name}_bucket`, metric('counter', ['le'])],
      [`${name}_count`, metric('counter')],
      [`${name}_sum`, metric('counter')],
    ] satisfies [string, Metric][];
  });
}

/** External metrics: `up` is from Prometheus, and kube-state-metrics reports the pods. */
export const foreign: Metrics = new Map(
  Object.entries({
    up: [...targetLabels, 'service'],
    kube_pod_status_phase: ['namespace', 'pod', 'uid', 'phase'],
    kube_pod_status_ready: ['namespace', 'pod', 'uid', 'condition'],
  }).map(([name, labels]) => [name, { kind: 'gauge', labels: new Set(labels) }]),
);

/** A selector of an expression. */
export interface Selector {
  readonly metric: string;
  /** Label, operator and text of each matcher. */
  readonly matchers: readonly (readonly [label: string, operator: string, text: string])[];
  /** Functions and aggregations around the selector, from the outside, each with the labels of its `by`. */
  readonly around: readonly { readonly name: string; readonly by?: readonly string[] }[];
}

const aggregations = new Set(['sum', 'max', 'min', 'avg', 'count', 'topk', 'bottomk', 'group', 'quantile']);
const words = new Set(['and', 'or', 'unless', 'offset', 'bool']);
const tokens = /"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[a-z_]\w*|\d[\w.]*|=~|!~|!=|[<>=]=?|\S/gi;

/** The selectors of an expression, and the labels by which its sides are joined. */
export function selectorsOf(expr: string): { selectors: Selector[]; on: string[] } {
  const all: string[] = expr.match(tokens) ?? [];
  const selectors: Selector[] = [];
  const on: string[] = [];
  const around: { name: string; by?: string[] }[] = [];
  let at = 0;
  const labels = (): string[] => {
    const end = all.indexOf(')', at);
    const found = all.slice(at + 1, end).filter((token) => token !== ',');
    at = end + 1;
    return found;
  };
  while (at < all.length) {
    const token = all[at++] as string;
    if (token === ')') around.pop();
    else if (token === '(') around.push({ name: '' });
    else if (token === 'on') on.push(...labels());
    else if (aggregations.has(token)) {
      const grouped = all[at] === 'by';
      if (grouped) at += 1;
      const by = grouped ? labels() : [];
      if (all[at++] !== '(') throw new Error(`${token} without "by (…) (…)": ${expr}`);
      around.push({ name: token, by });
    } else if (/^[a-z_]/i.test(token) && !words.has(token)) {
      if (all[at] === '(') {
        at++;
        around.push({ name: token });
        continue;
      }
      const matchers: [string, string, string][] = [];
      if (all[at] === '{') {
        const end = all.indexOf('}', at);
        const inside = all.slice(at + 1, end).filter((part) => part !== ',');
        for (let i = 0; i < inside.length; i += 3) {
          const [label = '', operator = '', text = '""'] = inside.slice(i, i + 3);
          matchers.push([label, operator, JSON.parse(text)]);
        }
        at = end + 1;
      }
      selectors.push({ metric: token, matchers, around: [...around] });
    }
  }
  return { selectors, on };
}

/** Functions that only use a counter's increase, whatever its start value. */
const ofCounters = new Set(['rate', 'increase']);
const ofYoungCounters = new Set(['max_over_time', 'last_over_time']);

/**
 * Mistakes of an expression about the existing metrics: names, labels, kinds, the aggregation of replicas, and
 * values that `source` does not contain as a text.
 */
export function mistakesIn(expr: string, metrics: Metrics, source: string): string[] {
  const { selectors, on } = selectorsOf(expr);
  return selectors.flatMap(({ metric, matchers, around }) => {
    const known = metrics.get(metric);
    if (!known) return [`${metric} does not exist`];
    const used = [...matchers.map(([label]) => label), ...around.flatMap(({ by = [] }) => by), ...on];
    const found = [...new Set(used)]
      .filter((label) => !known.labels.has(label))
      .map((label) => `${metric} has no label ${label}`);
    const names = around.map(({ name }) => name);
    const counts = names.some((name) => ofCounters.has(name));
    if (known.kind === 'gauge' && counts) found.push(`${metric} is a gauge`);
    if (known.kind === 'counter' && !counts && !names.some((name) => ofYoungCounters.has(name)))
      found.push(`${metric} is a counter`);
    const join = names.findLast((name) => aggregations.has(name));
    if (known.wholePlatform && join !== 'max')
      found.push(`${metric} is joined by ${join ?? 'nothing'}, not by max`);
    if (!foreign.has(metric)) {
      const values = matchers.filter(([label]) => known.labels.has(label) && !targetLabels.includes(label));
      for (const [label, , text] of values) {
        for (const value of text.split('|').filter((one) => /^\w+$/.test(one))) {
          // A text of the source, or a method of a proto.
          if (!new RegExp(`['"]${value}['"]|\\brpc ${value}\\(|\\b${value}:`).test(source))
            found.push(`${label} is never ${value}`);
        }
      }
    }
    return found;
  });
}
