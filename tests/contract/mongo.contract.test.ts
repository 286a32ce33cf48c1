import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMongo, whyNoMongo } from '@headset-cloud/demo/stack/mongo.ts';
import { withDeadline } from '@headset-cloud/runtime/deadline.ts';
import { isTransient, toDomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { connectMongo } from '@headset-cloud/store/mongo.ts';
import { expect } from '@jest/globals';
import { freeze } from '../support/freeze.ts';
import { itUnless } from '../support/skip.ts';

// These tests end the server, so they never run on the server of MONGODB_URI.
const missing = whyNoMongo();
if (missing) process.stderr.write(`The loss of a MongoDB server is not tested: ${missing}.\n`);
const test = itUnless(missing);

test('a dead server is noticed, its calls end as database_failed, and the connection recovers', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mongo-contract-'));
  let server = await startMongo(directory);
  const connection = await connectMongo({ uri: server.uri, appName: 'contract', databasePrefix: 'loss-' });
  const things = connection.database('one').collection<{ _id: number }>('things');
  try {
    expect(connection.notReady()).toBeUndefined();
    await things.insertOne({ _id: 1 });

    server.kill();
    const error = await things.insertOne({ _id: 2 }).catch((e: unknown) => e);
    expect(toDomainError(error)).toMatchObject({ code: 'database_failed', retryAfterMs: 2000 });
    expect(isTransient(error)).toBe(true);
    await waitFor('the loss to be noticed', () =>
      connection.notReady()?.includes('no server that takes writes'),
    );

    server = await startMongo(directory, Number(new URL(server.uri).port));
    await waitFor('the server to be noticed', () => connection.notReady() === undefined);
    expect(await things.countDocuments({ _id: 1 })).toBe(1);
  } finally {
    await connection.close();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
  expect(connection.notReady()).toContain('closed');
});

test('a stalled server delays a call no longer than its caller waits', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mongo-contract-'));
  const server = await startMongo(directory);
  const connection = await connectMongo({ uri: server.uri, appName: 'contract', databasePrefix: 'stall-' });
  const things = connection.database('one').collection<{ _id: number; n?: number }>('things');
  try {
    // Every kind of operation is understood with the limit that it carries.
    await withDeadline(20_000, async () => {
      await things.insertOne({ _id: 1 });
      await things.insertMany([{ _id: 2 }]);
      await things.updateOne({ _id: 1 }, { $set: { n: 1 } });
      await things.updateMany({}, { $set: { n: 2 } });
      await things.bulkWrite([{ updateOne: { filter: { _id: 1 }, update: { $set: { n: 3 } } } }]);
      expect(await things.findOneAndUpdate({ _id: 2 }, { $set: { n: 4 } })).toEqual({ _id: 2, n: 2 });
      expect(await things.findOne({ _id: 2 })).toEqual({ _id: 2, n: 4 });
      expect(await things.find({}, { sort: { _id: 1 } }).toArray()).toHaveLength(2);
      const walked: number[] = [];
      for await (const { _id } of things.find({}, { sort: { _id: 1 } })) walked.push(_id);
      expect(walked).toEqual([1, 2]);
      expect(await things.countDocuments({})).toBe(2);
      await things.deleteOne({ _id: 1 });
      await things.deleteMany({ _id: 2 });
    });
    await freeze(server.pid);
    const call = withDeadline(500, () => things.insertOne({ _id: 3 }));
    // Without the caller's deadline the socket's time-out ends it, with another error.
    await expect(call).rejects.toMatchObject({ code: 'deadline_exceeded' });
  } finally {
    process.kill(server.pid, 'SIGCONT');
    await connection.close();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});

test('an unavailable server is an error', async () => {
  const uri = 'mongodb://127.0.0.1:1/?directConnection=true';
  await expect(connectMongo({ uri, appName: 'contract' })).rejects.toThrow(/ECONNREFUSED/);
});
