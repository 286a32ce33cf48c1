import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type EmbeddedDatabase, openEmbeddedDatabase } from './database.ts';
import { IndexBuffer } from './index-buffer.ts';
import { createEmbeddedStore, type EmbeddedStoreConnection } from './store.ts';
import { failingCommits } from './testing/failing-commits.ts';

interface Job {
  _id: number;
  state: string;
  number: number;
  due?: Date;
  tags?: string[];
}

/** Delay after which pending entries are written; long enough to never happen in a test. */
const neverMs = 3_600_000;
/** Number of changes that are written without the delay. */
const manyChanges = 20_000;

let directories: string[];
let db: EmbeddedDatabase;
let store: EmbeddedStoreConnection;
let jobs: StoreCollection<Job>;

const folder = () => {
  const directory = mkdtempSync(join(tmpdir(), 'index-buffer-'));
  directories.push(directory);
  return directory;
};

async function open(directory: string, indexDelayMs = neverMs): Promise<void> {
  db = openEmbeddedDatabase({ directory });
  store = createEmbeddedStore(db, { indexDelayMs });
  jobs = store.database('test').collection<Job>('jobs');
  await jobs.createIndexes([
    { key: { state: 1, number: -1 } },
    { key: { due: 1 }, sparse: true },
    { key: { tags: 1 } },
    { key: { number: 1 }, unique: true },
  ]);
}

/** Simulates a killed process: opens the current files again. */
async function killAndStart(): Promise<void> {
  const [copy, killed] = [folder(), { db, store }];
  for (const file of ['headset-cloud.db', 'headset-cloud.db-wal']) {
    cpSync(join(directories[directories.length - 2] as string, file), join(copy, file));
  }
  await open(copy);
  await killed.store.close();
  await killed.db.close();
}

const rows = (table: string) =>
  Number(db.sql.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count']);
const journal = () => rows('store_index_journal');
/** Creates the index of state and number; its table has the number 1. */
const created = async (direction: 1 | -1 = 1) =>
  (await jobs.find({ state: 'created' }, { sort: { number: direction } }).toArray()).map(
    ({ number }) => number,
  );
const job = (number: number): Job => ({ _id: number, state: 'created', number });
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
/** Writes all pending entries to the tables. */
const reopened = async () => {
  await store.close();
  await db.close();
  await open(directories[directories.length - 1] as string);
};

beforeEach(async () => {
  directories = [];
  await open(folder());
});

afterEach(async () => {
  await store.close();
  await db.close();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

describe('a change of index entries', () => {
  it('is written later, and not at all if the entry is removed before', async () => {
    await jobs.insertMany(numbers(0, 10).map(job));
    await jobs.updateMany({ number: { $lt: 9 } }, { $set: { state: 'done' } });
    await jobs.deleteOne({ _id: 0 });
    expect(rows('index_1')).toBe(0);
    expect(await created()).toEqual([9]);
    expect(await jobs.countDocuments({ state: 'done' })).toBe(8);
    await reopened();
    expect([rows('index_1'), rows('index_2'), rows('index_4'), journal()]).toEqual([9, 0, 9, 0]);
    expect(await created()).toEqual([9]);
  });

  it('is written to the tables after the delay, and the journal becomes empty', async () => {
    await store.close();
    await db.close();
    await open(directories[0] as string, 10);
    await jobs.insertOne(job(1));
    await waitFor('the table to have it', () => rows('index_1') === 1 && journal() === 0);
    expect(await created()).toEqual([1]);
  });

  it('is written at once if there are many', async () => {
    for (let at = 0; at < manyChanges; at += 5000) {
      await jobs.insertMany(numbers(at, at + 5000).map(job));
    }
    expect(rows('index_1')).toBeGreaterThan(0);
    expect(await jobs.countDocuments({ state: 'created' })).toBe(manyChanges);
  });

  it('survives a kill: added entries exist, removed entries do not', async () => {
    await jobs.insertMany(numbers(0, 5).map(job));
    await reopened();
    await jobs.insertMany(numbers(5, 8).map(job));
    await jobs.updateOne({ _id: 1 }, { $set: { state: 'done', due: new Date(5) } });
    await jobs.deleteOne({ _id: 2 });
    await killAndStart();
    expect(await created()).toEqual([0, 3, 4, 5, 6, 7]);
    expect(await jobs.findOne({ due: { $lte: new Date(5) } })).toMatchObject({ _id: 1 });
    expect([rows('index_1'), journal()]).toEqual([7, 0]);
  });

  it('survives a kill also if the entry was added and removed several times', async () => {
    await jobs.insertMany(numbers(0, 3).map(job));
    for (const state of ['done', 'created', 'done', 'created']) {
      await jobs.updateOne({ _id: 1 }, { $set: { state } });
      await reopened();
      await jobs.updateOne({ _id: 0 }, { $set: { state } });
    }
    await jobs.updateOne({ _id: 2 }, { $set: { state: 'done' } });
    await jobs.updateOne({ _id: 2 }, { $set: { state: 'created' } });
    await jobs.updateOne({ _id: 2 }, { $set: { state: 'done' } });
    await killAndStart();
    expect(await created()).toEqual([0, 1]);
    expect(rows('index_1')).toBe(3);
  });

  it('is visible to queries in both directions, page by page, together with entries in the tables', async () => {
    await jobs.insertMany(
      numbers(0, 300)
        .filter((n) => n % 2 === 0)
        .map(job),
    );
    await reopened();
    await jobs.insertMany(
      numbers(0, 300)
        .filter((n) => n % 2 === 1)
        .map(job),
    );
    await jobs.updateMany({ number: { $gte: 20, $lt: 120 } }, { $set: { state: 'done' } });
    await jobs.deleteMany({ number: { $gte: 290 } });
    const left = [...numbers(0, 20), ...numbers(120, 290)];
    expect(await created()).toEqual(left);
    expect(await created(-1)).toEqual([...left].reverse());
    const some = await jobs
      .find({ state: 'created', number: { $gt: 10, $lt: 130 } }, { sort: { number: -1 }, limit: 12 })
      .toArray();
    expect(some.map(({ number }) => number)).toEqual([...numbers(120, 130).reverse(), 19, 18]);
    const both = await jobs.find({ state: { $in: ['created', 'done'] } }, { sort: { number: 1 } }).toArray();
    expect(both.map(({ number }) => number)).toEqual(numbers(0, 290));
  });

  it('of several entries of a document is complete', async () => {
    await jobs.insertOne({ ...job(1), tags: ['a', 'b'] });
    await jobs.updateOne({ _id: 1 }, { $set: { tags: ['b', 'c'] } });
    await killAndStart();
    expect(await jobs.countDocuments({ tags: 'a' })).toBe(0);
    expect(await jobs.countDocuments({ tags: 'c' })).toBe(1);
    expect(rows('index_3')).toBe(2);
  });

  it('is undone with a failed transaction; earlier committed changes stay', async () => {
    await jobs.insertMany(numbers(0, 3).map(job));
    await jobs.updateOne({ _id: 0 }, { $set: { state: 'done' } });
    const failing = failingCommits(db);
    const turn = [
      jobs.insertOne(job(7)),
      jobs.updateOne({ _id: 0 }, { $set: { state: 'created' } }),
      jobs.updateOne({ _id: 1 }, { $set: { state: 'done' } }),
      failing(),
    ];
    expect((await Promise.allSettled(turn)).map(({ status }) => status)).toEqual(turn.map(() => 'rejected'));
    expect(await created()).toEqual([1, 2]);
    await jobs.updateOne({ _id: 0 }, { $set: { state: 'created' } });
    await jobs.deleteOne({ _id: 2 });
    expect(await created()).toEqual([0, 1]);
    await killAndStart();
    expect(await created()).toEqual([0, 1]);
    expect(rows('index_1')).toBe(2);
  });

  it('leaves nothing to write if the entry was added and removed', async () => {
    const entries = new IndexBuffer(db, neverMs).of(9);
    const entry = 'a\0\0\0\0\0\x07';
    await db.write(() => entries.change(entry, 7, true));
    expect(entries.isEmpty).toBe(false);
    await db.write(() => entries.change(entry, 7, false));
    expect(entries.isEmpty).toBe(true);
  });

  it('is undone alone with a write that throws', async () => {
    db.sql.exec('CREATE TABLE index_9 (entry BLOB PRIMARY KEY) WITHOUT ROWID');
    const buffer = new IndexBuffer(db, neverMs);
    const entries = buffer.of(9);
    const [a, b, c] = ['a', 'b', 'c'].map((key) => `${key}\0\0\0\0\0\x07`) as [string, string, string];
    const first = db.write(() => entries.change(a, 7, true));
    const failed = db.write(() => {
      entries.change(a, 7, false);
      entries.change(b, 7, true);
      throw new Error('changed my mind');
    });
    const last = db.write(() => entries.change(c, 7, true));
    await Promise.allSettled([first, failed, last]);
    expect(entries.changedBetween('', '\xff')).toEqual([a, c]);
    expect([a, b, c].map((entry) => entries.has(entry))).toEqual([true, undefined, true]);
  });
});

it('index queries return the same as a full scan, after random operations and after kills', async () => {
  let seed = 20_260_101;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  const states = ['created', 'published', 'done'];
  for (let i = 0; i < 600; i++) {
    const _id = random(60);
    const set = { state: states[random(3)] as string, ...(random(2) === 0 && { due: new Date(random(50)) }) };
    const tags = numbers(0, random(3)).map((n) => `tag-${(n + random(4)) % 4}`);
    switch (random(6)) {
      case 0:
        await jobs.insertOne({ ...job(_id), ...set, tags }).catch(() => {});
        break;
      case 1:
        await jobs.deleteOne({ _id });
        break;
      case 2:
        await jobs.updateOne({ _id }, { $unset: { due: true } });
        break;
      default:
        await jobs.updateOne({ _id }, { $set: { ...set, tags } });
    }
    if (i % 97 === 0) await killAndStart();
    if (i % 61 === 0) await reopened();
    if (i % 10 > 0) continue;
    const all = (await jobs.find({}).toArray()).sort((a, b) => a.number - b.number);
    const ids = (found: Job[]) => found.map((one) => one._id);
    for (const state of states) {
      const found = await jobs.find({ state }, { sort: { number: 1 } }).toArray();
      expect([i, state, ids(found)]).toEqual([i, state, ids(all.filter((one) => one.state === state))]);
    }
    const due = await jobs.find({ due: { $lte: new Date(25) } }).toArray();
    const isDue = (one: Job) => one.due !== undefined && one.due.getTime() <= 25;
    expect([i, ids(due).sort((a, b) => a - b)]).toEqual([i, ids(all.filter(isDue))]);
    const tagged = await jobs.find({ tags: 'tag-1' }).toArray();
    const hasTag = (one: Job) => one.tags?.includes('tag-1');
    expect([i, ids(tagged).sort((a, b) => a - b)]).toEqual([i, ids(all.filter(hasTag))]);
  }
});
