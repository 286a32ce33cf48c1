import { type JsonObject, resolve } from '@headset-cloud/gateway/openapi/document.ts';
import { breakingSchema, type Direction, type Side } from './schemas.ts';

const methods = ['get', 'put', 'post', 'patch', 'delete'];

/** Server of the document's calls: the platform's API; the platform's callbacks; integrators' endpoints that the platform calls. */
export type DocumentKind = 'api' | 'callbacks' | 'integrator';

/**
 * Returns the breaking changes for an integrator who uses the old document: removed calls, parameters, members or
 * values, new requirements, and different answers. Additions are compatible.
 */
export function breakingChanges(before: JsonObject, after: JsonObject, kind: DocumentKind): string[] {
  const place = kind === 'api' ? 'paths' : 'webhooks';
  const items = (document: JsonObject) => (document[place] ?? {}) as Record<string, JsonObject>;
  const found: string[] = [];
  for (const [path, item] of Object.entries(items(before))) {
    for (const method of methods.filter((m) => m in item)) {
      const at = `${method.toUpperCase()} ${path}`;
      const now = items(after)[path];
      if (now?.[method] === undefined) found.push(`${at}: is gone`);
      else
        found.push(...breakingCall(operation(before, item, method), operation(after, now, method), kind, at));
    }
  }
  return found;
}

interface Operation {
  readonly document: JsonObject;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

const operation = (document: JsonObject, item: JsonObject, method: string): Operation => ({
  document,
  item,
  operation: item[method] as JsonObject,
});

function breakingCall(old: Operation, now: Operation, kind: DocumentKind, at: string): string[] {
  const asked: Direction = kind === 'api' ? 'received' : 'sent';
  const answered: Direction = kind === 'integrator' ? 'received' : 'sent';
  const found: string[] = [];
  const id = (o: Operation) => o.operation['operationId'];
  if (id(old) !== id(now)) found.push(`${at}: operationId was ${id(old)}, is ${id(now)}`);
  const extra = scopes(now).filter((s) => !scopes(old).includes(s));
  if (extra.length > 0) found.push(`${at}: now needs ${extra}`);
  found.push(...breakingParameters(old, now, asked, at), ...breakingBody(old, now, asked, at));
  for (const [status, answer] of Object.entries(answers(old)).filter(([s]) => s.startsWith('2'))) {
    const fresh = answers(now)[status];
    if (fresh === undefined) found.push(`${at}: no longer answers ${status}`);
    else found.push(...breakingAnswer(old, now, answer, fresh, answered, `${at} ${status}`));
  }
  return found;
}

function breakingParameters(old: Operation, now: Operation, asked: Direction, at: string): string[] {
  const found: string[] = [];
  const before = parameters(old);
  const after = parameters(now);
  for (const [name, parameter] of before) {
    const fresh = after.get(name);
    if (!fresh) found.push(`${at} ${name}: is gone`);
    else found.push(...breakingSchema(side(old, parameter), side(now, fresh), asked, `${at} ${name}`));
  }
  for (const [name, parameter] of after) {
    const wasRequired = before.get(name)?.['required'] === true;
    if (asked === 'received' && parameter['required'] === true && !wasRequired) {
      found.push(`${at} ${name}: is now required`);
    }
  }
  return found;
}

function breakingBody(old: Operation, now: Operation, asked: Direction, at: string): string[] {
  const before = body(old.document, old.operation['requestBody']);
  const after = body(now.document, now.operation['requestBody']);
  if (!before) return after && asked === 'received' ? [`${at}: now needs a body`] : [];
  if (!after) return asked === 'sent' ? [`${at}: no longer has a body`] : [];
  return breakingSchema(before, after, asked, `${at} body`);
}

function breakingAnswer(
  old: Operation,
  now: Operation,
  before: unknown,
  after: unknown,
  direction: Direction,
  at: string,
): string[] {
  const headers = (o: Operation, answer: unknown) =>
    (resolve(o.document, answer)['headers'] ?? {}) as Record<string, unknown>;
  const found = Object.keys(headers(old, before))
    .filter((name) => !(name in headers(now, after)))
    .map((name) => `${at} ${name}: is gone`);
  const [was, is] = [body(old.document, before), body(now.document, after)];
  if (was && is) found.push(...breakingSchema(was, is, direction, `${at} body`));
  else if (was) found.push(`${at}: no longer has a body`);
  return found;
}

function parameters({ document, item, operation: call }: Operation): Map<string, JsonObject> {
  const list = [...((item['parameters'] ?? []) as unknown[]), ...((call['parameters'] ?? []) as unknown[])];
  return new Map(
    list.map((p) => {
      const parameter = resolve(document, p);
      return [`${parameter['in']} ${parameter['name']}`, parameter];
    }),
  );
}

const scopes = ({ operation: call }: Operation) =>
  ((call['security'] ?? []) as Record<string, string[]>[]).flatMap((s) => Object.values(s).flat());
const answers = ({ operation: call }: Operation) => (call['responses'] ?? {}) as Record<string, unknown>;
const side = ({ document }: Operation, holder: JsonObject): Side => ({
  document,
  schema: (holder['schema'] ?? {}) as JsonObject,
});

function body(document: JsonObject, value: unknown): Side | undefined {
  if (!value) return undefined;
  const content = resolve(document, value)['content'] as Record<string, JsonObject> | undefined;
  const schema = content?.['application/json']?.['schema'] as JsonObject | undefined;
  return schema && { document, schema };
}
