import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import * as driver from 'mongodb';
import {
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoServerError,
  type WriteError,
} from 'mongodb';
import { areDuplicates, DomainError, isTransient, toDomainError } from './errors.ts';

const none = {} as BulkWriteResult;
const refused = (code: number) =>
  new MongoBulkWriteError(
    {
      message: 'refused',
      code,
      writeErrors: [{ index: 0, code, errmsg: 'refused' } as WriteError],
    },
    none,
  );

test.each<[string, unknown]>([
  ['a broken connection', new MongoNetworkError('read ECONNRESET')],
  // The driver reports every failure of a bulk that does not concern single writes in this way.
  ['a bulk whose connection broke', new MongoBulkWriteError(new MongoNetworkError('read ECONNRESET'), none)],
  ['a bulk that no majority acknowledged', new MongoBulkWriteError({ message: 'timed out', code: 64 }, none)],
  ['a server that is busy', new MongoServerError({ message: 'busy', code: 50 })],
  ['another service that is unavailable', new DomainError('unavailable', 'away')],
])('%s passes', (_, error) => {
  expect(isTransient(error)).toBe(true);
});

test.each<[string, unknown]>([
  ['a bulk of which a write was refused', refused(121)],
  ['a bulk of which a document exists', refused(11000)],
  ['a document that exists', new MongoServerError({ message: 'exists', code: 11000 })],
  ['a document that is too large', new MongoServerError({ message: 'too large', code: 10334 })],
  [
    'a bulk with a document that is too large',
    new MongoBulkWriteError(new MongoServerError({ message: 'too large', code: 10334 }), none),
  ],
  ['an invalid call', new MongoInvalidArgumentError('wrong')],
  ['a rejection', new DomainError('not_found', 'no')],
  ['anything else', new TypeError('a mistake')],
])('%s does not', (_, error) => {
  expect(isTransient(error)).toBe(false);
});

test('a socket closed by the database is a transient database failure', async () => {
  const server = createServer((peer) => {
    peer.on('error', () => {});
    peer.pause().end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const failure = new Promise((resolve) => socket.once('error', resolve));
  socket.write(Buffer.alloc(64 << 20)); // unsent data keeps the socket from closing
  socket.resume().once('end', () => setImmediate(() => socket.write('a command')));
  const error = await failure;
  server.close();
  expect(error).toMatchObject({ name: 'Error', code: 'EPIPE' });
  expect(isTransient(error)).toBe(true);
  expect(toDomainError(error)).toMatchObject({ code: 'database_failed', retryAfterMs: 2000 });
});

test('a bulk with one duplicate and one document without disk space does not count as duplicates only', () => {
  const of = (...codes: number[]) =>
    new MongoBulkWriteError(
      {
        message: 'refused',
        code: codes[0] as number,
        writeErrors: codes.map((code, index) => ({ index, code, errmsg: 'refused' }) as WriteError),
      },
      none,
    );
  expect([of(11000, 11000), of(11000, 14031), of(14031)].map(areDuplicates)).toEqual([true, false, false]);
});

test('every error of the driver is a database failure, whatever its name', () => {
  const names = Object.values(driver as unknown as Record<string, unknown>).flatMap((one) =>
    typeof one === 'function' && one.prototype instanceof driver.MongoError
      ? [String(one.prototype.name)]
      : [],
  );
  expect(names.length).toBeGreaterThan(20);
  const codes = names.map((name) => [name, toDomainError(Object.assign(new Error('away'), { name })).code]);
  expect(codes).toEqual(names.map((name) => [name, 'database_failed']));
  // Error of calls that the driver's monitoring interrupts; the driver does not export its class.
  const cutOff = Object.assign(new Error('interrupted'), { name: 'PoolClearedOnNetworkError' });
  expect([isTransient(cutOff), toDomainError(cutOff).code]).toEqual([true, 'database_failed']);
});
