import { operationsOf, rawOperations } from './model';
import { flatten, isObject, resolve } from './resolve';
import type { ApiInput, ApiSource, OpenApiDocument, Operation, Schema } from './types';

export interface Related {
  readonly id: string;
  readonly summary: string;
  readonly href: string;
  readonly method: string;
  /** `notificationType`s of the callback's variants that follow the call. */
  readonly when: readonly string[];
}

const listed = (schema: unknown): string[] => {
  if (!isObject(schema)) return [];
  const all = Object.hasOwn(schema, 'const')
    ? [schema['const']]
    : Array.isArray(schema['enum'])
      ? schema['enum']
      : [];
  return all.filter((one): one is string => typeof one === 'string');
};

/** Calls that a callback's body may have in `operationId`, with the `notificationType`s of that variant. */
function namedCalls(document: OpenApiDocument, schema: Schema, depth = 0): Map<string, Set<string>> {
  const calls = new Map<string, Set<string>>();
  if (depth > 8) return calls;
  const { value } = flatten(document, schema);
  const properties = isObject(value['properties']) ? value['properties'] : {};
  const read = (name: string) =>
    properties[name] === undefined ? [] : listed(flatten(document, properties[name] as Schema).value);
  const types = read('notificationType');
  const add = (id: string, names: Iterable<string>) => {
    const known = calls.get(id) ?? new Set<string>();
    for (const name of names) known.add(name);
    calls.set(id, known);
  };
  for (const id of read('operationId')) add(id, types);
  for (const { of } of value['choices'] as readonly { of: readonly Schema[] }[]) {
    for (const variant of of)
      for (const [id, names] of namedCalls(document, variant, depth + 1)) add(id, names);
  }
  return calls;
}

/** Relations between calls and callbacks: a callback follows a call whose `operationId` its body may have. */
export function relations(input: ApiInput): {
  callbacksOf(call: string): readonly Related[];
  callsOf(callback: string): readonly Related[];
} {
  const sources: readonly ApiSource[] = [input, ...input.others];
  const hrefOf = (source: ApiSource, id: string) =>
    source.route === input.route ? `#${id}` : `${source.route}#${id}`;
  const calls = new Map<string, { source: ApiSource; operation: Operation }>();
  for (const source of sources) {
    for (const operation of operationsOf(source.document))
      if (operation.kind === 'call') calls.set(operation.id, { source, operation });
  }
  const after = new Map<string, Related[]>();
  const before = new Map<string, Related[]>();
  for (const source of sources) {
    const described = new Map(operationsOf(source.document).map((one) => [one.path, one]));
    for (const { kind, path, value } of rawOperations(source.document)) {
      const callback = described.get(path);
      const { content: all } = resolve(source.document, value['requestBody']).value;
      const content = isObject(all) ? Object.values(all)[0] : undefined;
      if (kind !== 'callback' || !callback || !isObject(content)) continue;
      for (const [id, types] of namedCalls(source.document, (content['schema'] ?? true) as Schema)) {
        const call = calls.get(id);
        if (!call) continue;
        const when = [...types];
        const { summary, method } = callback;
        after.set(id, [
          ...(after.get(id) ?? []),
          { id: callback.id, summary, method, when, href: hrefOf(source, callback.id) },
        ]);
        const cause = {
          id,
          summary: call.operation.summary,
          method: call.operation.method,
          when,
          href: hrefOf(call.source, id),
        };
        before.set(callback.id, [...(before.get(callback.id) ?? []), cause]);
      }
    }
  }
  return { callbacksOf: (call) => after.get(call) ?? [], callsOf: (callback) => before.get(callback) ?? [] };
}

/**
 * Link targets of inline code, by its text: an operation by its id or by `METHOD path`. In a document with callbacks
 * also a setting that contains an address (a field of a call's body with format uri).
 */
export function namedAddresses(input: ApiInput): ReadonlyMap<string, string> {
  const addresses = new Map<string, string>();
  for (const { route, document } of [...input.others, input]) {
    const base = route === input.route ? '' : route;
    for (const { id, kind, method, path, request } of operationsOf(document)) {
      addresses.set(id, `${base}#${id}`);
      if (kind === 'call') addresses.set(`${method.toUpperCase()} ${path}`, `${base}#${id}`);
      if (kind === 'call' && input.document.webhooks) {
        for (const field of request?.bodies[0]?.shape.fields ?? []) {
          if (field.shape.type.includes('(uri)') && !addresses.has(field.name))
            addresses.set(field.name, `${base}#${field.anchor}`);
        }
      }
    }
  }
  return addresses;
}

/** Links inline code that is in `addresses`, except to `own`. Code in links and blocks stays unchanged. */
export const linkCode = (html: string, addresses: ReadonlyMap<string, string>, own = ''): string =>
  html.replace(
    /<a [^>]*>.*?<\/a>|<pre.*?<\/pre>|<code>([^<]+)<\/code>/gs,
    (whole, text: string | undefined) => {
      const href = text === undefined ? undefined : addresses.get(text);
      return href === undefined || href === own
        ? whole
        : `<a href="${href.replaceAll('"', '&quot;')}">${whole}</a>`;
    },
  );
