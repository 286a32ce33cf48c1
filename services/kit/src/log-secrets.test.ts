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
  ['what tells itself', { it: { toJSON } }, { it: { name: 'n', ...shown } }],
  ['a failure that is no error of the line', { cause: failure(secrets) }, { cause: shown }],
])('secrets are in no line: %s', async (_, given, expected) => {
  logger.info(given, 'told');
  expect(await line()).toEqual({ ...expected, message: 'told' });
});

// protects against operators/logged-fields
test.each([
  ['', secrets],
  [' of what it was about', { request: secrets }],
])('secrets%s are in no line of an error, whose text and stack stay', async (_, more) => {
  const error = failure(more);
  logger.error({ err: error }, 'told');
  expect(await line()).toEqual({
    err: {
      type: 'Error',
      message: 'failed',
      stack: error.stack,
      ...('request' in more ? { request: shown } : shown),
    },
    message: 'told',
  });
  // What was logged is as it was.
  expect(error).toMatchObject(more);
});

// protects against operators/logged-fields
test('secrets are in no line of a logger that has them as its own', async () => {
  logger.child({ ...secrets, of: { ...secrets } }).info('told');
  expect(await line()).toEqual({ ...shown, of: shown, message: 'told' });
});

test('everything else is written as it is', async () => {
  const at = new Date(0);
  const given = {
    text: 't',
    number: 1,
    list: [1, { a: null }],
    deep: { a: { b: { c: { d: { e: 1 } } } } },
    at,
  };
  logger.info(given, 'told');
  expect(await line()).toEqual({ ...given, at: at.toISOString(), message: 'told' });
});
