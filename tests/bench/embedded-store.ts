import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';

/**
 * How fast the embedded store is on this machine: durable inserts in batches, conditional updates by
 * 64 concurrent callers, and reads. Run: `node tests/bench/embedded-store.ts [seconds]`.
 */
const seconds = Number(process.argv[2] ?? 2);
const callers = 64;
const directory = mkdtempSync(join(tmpdir(), 'embedded-store-bench-'));
const db = openEmbeddedDatabase({ directory });
const store = createEmbeddedStore(db);
const jobs = store.database('bench').collection<Job>('jobs');

interface Job {
  _id: string;
  device: string;
  state: string;
  attempt: number;
  number: number;
  at: Date;
  payload: { operation: string; text: string };
  outbox: { sequence: number; type: string }[];
}

function job(number: number): Job {
  return {
    _id: `job-${number}`,
    device: `device-${number % 500}`,
    state: 'created',
    attempt: 0,
    number,
    at: new Date(),
    payload: { operation: 'put-v1-applications-devices-apps', text: 'x'.repeat(120) },
    outbox: [],
  };
}

async function measure(name: string, work: (caller: number, i: number) => Promise<number>): Promise<void> {
  const start = performance.now();
  const end = start + seconds * 1000;
  let done = 0;
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let i = 0; performance.now() < end; i++) {
        const count = await work(caller, i);
        done += count;
      }
    }),
  );
  const rate = Math.round((done * 1000) / (performance.now() - start));
  process.stdout.write(`${name.padEnd(48)} ${rate.toLocaleString('en')}/s\n`);
}

try {
  await jobs.createIndexes([
    { key: { device: 1, number: 1 }, unique: true },
    { key: { state: 1, at: 1 }, partialFilterExpression: { state: 'published' } },
  ]);
  let next = 0;
  await measure('inserts in batches of 100', async () => {
    const batch = Array.from({ length: 100 }, () => job(next++));
    return (await jobs.insertMany(batch)).insertedCount;
  });
  await measure('single inserts', async () => {
    await jobs.insertOne(job(next++));
    return 1;
  });
  const hot = Math.min(next, 5000);
  await measure('conditional findOneAndUpdate by _id', async (caller, i) => {
    const found = await jobs.findOneAndUpdate(
      { _id: `job-${(caller * 997 + i) % hot}`, attempt: { $lt: 1_000_000 } },
      { $set: { state: i % 2 ? 'accepted' : 'created', at: new Date() }, $inc: { attempt: 1 } },
      { returnDocument: 'after' },
    );
    return found ? 1 : 0;
  });
  await measure('updateOne with $push and $pull of an outbox', async (caller, i) => {
    const _id = `job-${(caller * 997 + i) % hot}`;
    await jobs.updateOne({ _id }, { $push: { outbox: { sequence: i, type: 'published' } } });
    await jobs.updateOne({ _id }, { $pull: { outbox: { sequence: i } } });
    return 2;
  });
  await measure('findOne by _id', async (caller, i) =>
    (await jobs.findOne({ _id: `job-${(caller * 997 + i) % hot}` })) ? 1 : 0,
  );
  await measure('find by index, sorted, 10 of many', async (caller, i) => {
    const device = `device-${(caller + i) % 500}`;
    return (await jobs.find({ device }, { sort: { number: -1 }, limit: 10 }).toArray()).length > 0 ? 1 : 0;
  });
} finally {
  await store.close();
  await db.close();
  rmSync(directory, { recursive: true, force: true });
}
