import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, flushLogs, type Logger } from './logger.ts';

let folder: string;
let fd: number;
let logger: Logger;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'log-secrets-'));
  fd = openSync(join(folder, 'log'), 'w');
  logger = createLogger({ level: 'info', destination: fd });
});
afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});
async function line(): Promise<Record<string, unknown>> {
  await flushLogs();
  const { time: _, level: _level, ...fields } = JSON.parse(readFileSync(join(folder, 'log'), 'utf8'));
  return fields;
}

const secrets = { authorization: 'x1', authenticationKey: 'x2', clientSecret: 'x3', body: { text: 'x4' } };
const shown = {
  authorization: '[redacted]',
  authenticationKey: '[redacted]',
  clientSecret: '[redacted]',
  body: '[redacted]',
};
const toJSON = () => ({ name: 'n', ...secrets });
const failure = (more: object) => Object.assign(new Error('failed'), more);

// protects against operators/logged-fields
test.each<[string, object, object]>([
  ['its own fields', { ...secrets, name: 'n' }, { ...shown, name: 'n' }],
  ['a field of it', { request: { ...secrets, name: 'n' } }, { request: { ...shown, name: 'n' } }],
  ['a field far below', { a: { b: { c: { ...secrets } } } }, { a: { b: { c: shown } } }],
  ['a list', { all: [{ name: 'n' }, { ...secrets }] }, { all: [{ name: 'n' }, shown] }],
  ['an object with toJSON', { it: { toJSON } }, { it: { name: 'n', ...shown } }],
  ['an error in another field than err', { cause: failure(secrets) }, { cause: shown }],
])('secrets are in no line: %s', async (_, given, expected) => {
  logger.info(given, 'logged');
  expect(await line()).toEqual({ ...expected, message: 'logged' });
});

// protects against operators/logged-fields
test.each([
  ['', secrets],
  [' of what it was about', { request: secrets }],
])('secrets%s are in no line of an error, whose text and stack stay', async (_, more) => {
  const error = failure(more);
  logger.error({ err: error }, 'logged');
  expect(await line()).toEqual({
    err: {
      type: 'Error',
      message: 'failed',
      stack: error.stack,
      ...('request' in more ? { request: shown } : shown),
    },
    message: 'logged',
  });
  // The logged object is unchanged.
  expect(error).toMatchObject(more);
});

// protects against operators/logged-fields
test('secrets in a child logger’s bindings are in no line', async () => {
  logger.child({ ...secrets, of: { ...secrets } }).info('logged');
  expect(await line()).toEqual({ ...shown, of: shown, message: 'logged' });
});

test('everything else is written unchanged', async () => {
  const at = new Date(0);
  const given = {
    text: 't',
    number: 1,
    list: [1, { a: null }],
    deep: { a: { b: { c: { d: { e: 1 } } } } },
    at,
  };
  logger.info(given, 'logged');
  expect(await line()).toEqual({ ...given, at: at.toISOString(), message: 'logged' });
});
