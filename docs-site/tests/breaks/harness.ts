import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync, rmSync, writeSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Mutant } from './instrument.ts';
import './switches.ts';

/**
 * Runs one test file in this process, its tests again and again, each time with another mutant on. It stands in for
 * `node:test` there. A mutant is taken for what a test sees where an assertion of the test fails (or, without such a
 * mutant, where the code throws an error of its own or the test does not end; never where something crashes), and the
 * same test passes without it before and afterwards.
 */
type Run = () => unknown;

interface Suite {
  readonly hooks: Record<'before' | 'after' | 'beforeEach' | 'afterEach', Run[]>;
  readonly parent?: Suite;
  readonly children: (Suite | { readonly name: string; readonly run: Run })[];
}

const { mutants } = globalThis as unknown as { mutants: { on: number; hits: Set<number> } };
const {
  file,
  site,
  open,
  skip,
  passed: isListed,
} = JSON.parse(process.env['HARNESS'] ?? '{}') as {
  readonly file: string;
  readonly site: string;
  /** Tests to be seen to fail; all without it. */
  readonly open?: readonly string[];
  /** Mutants that never end. */
  readonly skip: readonly number[];
  /** Only say which tests there are. */
  readonly passed?: boolean;
};

const tell = (what: Record<string, unknown>): void => void writeSync(1, `\u0001${JSON.stringify(what)}\n`);
const hitsPath = join(tmpdir(), `mutant-hits-${process.pid}`);
process.env['NODE_OPTIONS'] = `--import=${pathToFileURL(join(import.meta.dirname, 'switches.ts'))}`;
process.env['MUTANT_HITS'] = hitsPath;
process.once('exit', () => rmSync(hitsPath, { force: true }));

const suite = (parent?: Suite): Suite => ({
  hooks: { before: [], after: [], beforeEach: [], afterEach: [] },
  ...(parent && { parent }),
  children: [],
});
/** The suite that is being described; its function may wait. */
const describing = new AsyncLocalStorage<Suite>();
let described: unknown[] = [];
let top = suite();
const current = (): Suite => describing.getStore() ?? top;

const bodyOf = (rest: readonly unknown[]): Run => rest.findLast((one) => typeof one === 'function') as Run;
const hook = (kind: keyof Suite['hooks']) => (run: Run) => void current().hooks[kind].push(run);
Object.assign(globalThis, {
  nodeTest: {
    describe: (_name: string, ...rest: unknown[]) => {
      const inner = suite(current());
      current().children.push(inner);
      described.push(describing.run(inner, bodyOf(rest)));
    },
    test: (name: string, ...rest: unknown[]) => void current().children.push({ name, run: bodyOf(rest) }),
    before: hook('before'),
    after: hook('after'),
    beforeEach: hook('beforeEach'),
    afterEach: hook('afterEach'),
  },
});

let round = 0;
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'node:test')
      return {
        url: `data:text/javascript,export const { describe, test, before, after, beforeEach, afterEach } = globalThis.nodeTest;`,
        shortCircuit: true,
      };
    const found = next(specifier, context);
    // Modules of the site are evaluated anew in each round.
    return found.url.startsWith(pathToFileURL(site).href) && !found.url.includes('/node_modules/')
      ? { ...found, url: `${found.url}?${round}` }
      : found;
  },
});
// What a mutant leaves behind fails no test.
for (const event of ['unhandledRejection', 'uncaughtException'] as const)
  process.on(event, (error) => process.stderr.write(`${error instanceof Error ? error.stack : error}\n`));

function on(id: number): void {
  mutants.on = id;
  process.env['MUTANT_ON'] = String(id);
}

async function within(ms: number, run: Run): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('too late')), ms);
  try {
    await Promise.race([run(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Without a mutant a test has all the time of a busy machine. */
let limitMs = 120_000;

const chainOf = (one: Suite): readonly Suite[] => (one.parent ? [...chainOf(one.parent), one] : [one]);

/** How a test ends: passed, by a failed assertion, by an error of the code, not in time, or by a crash. */
type End = 'passed' | 'assertion' | 'thrown' | 'late' | 'crash';

async function attempt(inside: Suite, run: Run): Promise<End> {
  let end: End = 'passed';
  try {
    for (const { hooks } of chainOf(inside)) for (const one of hooks.beforeEach) await one();
    await within(limitMs, run);
  } catch (error) {
    const { name, code } = error as Error & { code?: string };
    if (code === 'ERR_ASSERTION') end = 'assertion';
    else if (String(error).includes('too late')) end = 'late';
    else end = /^(?:Type|Reference|Range|Syntax)Error$/.test(name) ? 'crash' : 'thrown';
  }
  try {
    for (const { hooks } of [...chainOf(inside)].reverse()) for (const one of hooks.afterEach) await one();
  } catch {
    end = end === 'passed' ? 'crash' : end;
  }
  return end;
}

const takeHits = (): Set<number> => {
  const hits = mutants.hits;
  mutants.hits = new Set();
  try {
    for (const one of readFileSync(hitsPath, 'utf8').split('\n')) if (one) hits.add(Number(one));
    rmSync(hitsPath);
  } catch {
    // No other process has told.
  }
  return hits;
};

const skipped = new Set(skip);
const unseen = new Set(open);
const wants = (name: string): boolean => isListed || unseen.has(name);
/** How many tests pass a switch: one that few pass tells most. */
const passes = new Map<number, number>();
const rarestFirst = (ids: Iterable<number>): number[] =>
  [...ids]
    .filter((id) => !skipped.has(id))
    .sort((a, b) => (passes.get(a) ?? 0) - (passes.get(b) ?? 0) || ((a * 7919) % 1009) - ((b * 7919) % 1009));

async function walk(
  one: Suite,
  each: (name: string, inside: Suite, run: Run) => Promise<void>,
): Promise<void> {
  for (const run of one.hooks.before) await within(60_000, run);
  for (const child of one.children)
    if ('run' in child) await each(child.name, one, child.run);
    else await walk(child, each);
  for (const run of one.hooks.after) await within(60_000, run).catch(() => undefined);
}

async function load(): Promise<Suite> {
  round++;
  top = suite();
  described = [];
  await import(`${pathToFileURL(join(site, 'tests', file))}?${round}`);
  await Promise.all(described);
  return top;
}

const all = new Set<number>();
const testHits = new Map<string, Set<number>>();

// What each test passes.
on(-1);
const first = await load();
await walk(first, async (name, inside, run) => {
  if (!isListed && !unseen.has(name)) return;
  for (const id of takeHits()) all.add(id);
  const end = await attempt(inside, run);
  if (isListed) return tell({ name, end });
  if (end !== 'passed') {
    tell({ name, unfit: end });
    return void unseen.delete(name);
  }
  const hits = takeHits();
  testHits.set(name, hits);
  for (const id of hits) {
    all.add(id);
    passes.set(id, (passes.get(id) ?? 0) + 1);
  }
});
if (isListed) process.exit(0);

// Mutants in what the test itself calls.
limitMs = 10_000;
const thrown = new Map<string, number>();
const second = await load();
await walk(second, async (name, inside, run) => {
  if (!wants(name)) return;
  const ends = Date.now() + Number(process.env['HARNESS_TEST_MS'] ?? 20_000);
  for (const id of rarestFirst(testHits.get(name) ?? [])) {
    if (Date.now() > ends) break;
    tell({ trying: id });
    on(id);
    const end = await attempt(inside, run);
    on(-1);
    const isWeak = end === 'thrown' || end === 'late';
    if (end !== 'assertion' && !isWeak) continue;
    if (isWeak && thrown.has(name)) continue;
    if ((await attempt(inside, run)) !== 'passed') continue;
    if (isWeak) thrown.set(name, id);
    else {
      tell({ name, id });
      unseen.delete(name);
      break;
    }
  }
});

/** One mutant of each source in turn, so that none is left out where the time does not suffice for all. */
function inTurn(ids: readonly number[]): number[] {
  const known = JSON.parse(readFileSync(join(site, '../mutants.json'), 'utf8')) as readonly Mutant[];
  const kinds = ['value', 'condition', 'leave'];
  const files = new Map<string, number[]>();
  const kindOf = (id: number) => kinds.indexOf(known[id]?.kind ?? '');
  for (const id of [...ids].sort((a, b) => kindOf(a) - kindOf(b))) {
    const { file = '' } = known[id] ?? {};
    files.set(file, [...(files.get(file) ?? []), id]);
  }
  const turns = [...files.values()].flatMap((one) => one.map((id, turn) => ({ id, turn })));
  return turns.sort((a, b) => a.turn - b.turn).map(({ id }) => id);
}

// Mutants in what the file prepares: it is evaluated anew for each.
const deadline = Date.now() + Number(process.env['HARNESS_MS'] ?? 120_000);
for (const id of inTurn(rarestFirst(all))) {
  if (unseen.size === 0 || Date.now() > deadline) break;
  tell({ trying: id });
  on(id);
  try {
    const again = await load();
    await walk(again, async (name, inside, run) => {
      if (!wants(name) || (await attempt(inside, run)) !== 'assertion') return;
      tell({ name, id });
      unseen.delete(name);
    });
  } catch {
    // A file that cannot be loaded, or prepared, shows nothing of a single test.
  }
}
on(-1);
for (const name of unseen) {
  const id = thrown.get(name);
  if (id !== undefined) tell({ name, id, thrown: true });
}
process.exit(0);
