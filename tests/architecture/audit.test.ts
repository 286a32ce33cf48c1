import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { auditActions } from '@headset-cloud/rules/audit/actions.ts';
import { notRecorded, reads, recorded } from './audit.ts';
import { methodsOfProtos, namedCallers } from './callers.ts';
import { root } from './imports.ts';

type Method = Awaited<ReturnType<typeof methodsOfProtos>>[number];
const nameOf = (method: Method) => `${method.parent.typeName}/${method.name}`;

/** The calls of integrators' requests and of operators. */
const listenerCalls = async () =>
  (await methodsOfProtos()).filter((method) =>
    namedCallers(method).some((caller) => caller === 'gateway' || caller === 'ctl'),
  );

// protects against operators/unrecorded
test('each change by integrators and operators is recorded, or exempt with a reason', async () => {
  const changing = (await listenerCalls()).filter(({ name }) => !reads.test(name)).map(nameOf);
  expect(changing.length).toBeGreaterThan(30);
  const listed = [...Object.keys(recorded), ...Object.keys(notRecorded)];
  expect(listed.sort()).toEqual(changing.sort());
});

test('each changing call of operators is recorded', async () => {
  const ofOperators = (await listenerCalls()).filter((method) => namedCallers(method).includes('ctl'));
  expect(ofOperators.length).toBeGreaterThan(30);
  const without = ofOperators.filter((method) => !reads.test(method.name)).map(nameOf);
  expect(without.filter((name) => !(name in recorded))).toEqual([]);
});

test('operators can search for each recorded call, and for no other', () => {
  const named = Object.keys(recorded).map((name) => {
    const [service = '', rpc] = name.split('/');
    return `${service.split('.')[1]}.${rpc}`;
  });
  expect(auditActions).toEqual([...new Set(named)].sort());
});

test('the handler of each recorded call stores a record', () => {
  const text = (file: string) => readFileSync(join(root, 'services', file), 'utf8');
  const handlerOf = (name: string) => {
    const rpc = name.split('/')[1] as string;
    return `${rpc[0]?.toLowerCase()}${rpc.slice(1)}`;
  };
  const missing = Object.entries(recorded).filter(
    ([name, file]) => !storesRecord(text(file), handlerOf(name)),
  );
  expect(missing.map(([name]) => name)).toEqual([]);
});

test('a handler that stores no record is detected', () => {
  const kept = 'async putX() { await audit.change({}, (record) => store.put(record)); },';
  const other = 'async putY() { await store.put(); },';
  expect(storesRecord(`return { ${kept} ${other} }`, 'putX')).toBe(true);
  expect(storesRecord(`return { ${other} ${kept} }`, 'putY')).toBe(false);
  expect(storesRecord('export function putZHandler() { return () => audit.change({}, put); }', 'putZ')).toBe(
    true,
  );
});

/** Whether the handler's text, up to the next handler, makes its change by way of the outbox. */
function storesRecord(text: string, handler: string): boolean {
  const begin = text.search(new RegExp(`(async |function )${handler}(Handler)?\\(`));
  if (begin < 0) return false;
  const rest = text.slice(begin + 1);
  const end = rest.search(/\basync \w+\(/);
  const body = end < 0 ? rest : rest.slice(0, end);
  return /audit\.change\(|\bremoveKey\(/.test(body);
}
