import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Code, ObjectId } from 'mongodb';
import { type EmbeddedDatabase, openEmbeddedDatabase } from './database.ts';
import { createEmbeddedStore, type EmbeddedStoreConnection } from './store.ts';

interface Job {
  _id: string;
  device: string;
  state: string;
  number: number;
  due?: Date;
  outbox?: { due: Date }[];
  secret?: string;
}

let directory: string;
let now = Date.UTC(2026, 0, 1);
let db: EmbeddedDatabase;
let store: EmbeddedStoreConnection;
let jobs: StoreCollection<Job>;

function open(): void {
  db = openEmbeddedDatabase({ directory, clock: { now: () => now } });
  store = createEmbeddedStore(db);
  jobs = store.database('test').collection<Job>('jobs');
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'embedded-store-'));
  open();
});

afterEach(async () => {
  await store.close();
  await db.close();
  rmSync(directory, { recursive: true, force: true });
});

const minutes = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 60_000);

/** 1,000 jobs of 10 devices; every hundredth is published and due. */
async function fill(): Promise<void> {
  await jobs.createIndexes([
    { key: { device: 1, number: -1 }, unique: true },
    { key: { due: 1 }, partialFilterExpression: { state: 'published' } },
    { key: { state: 1, number: 1 } },
    { key: { 'outbox.due': 1 }, sparse: true },
  ]);
  await jobs.insertMany(
    Array.from({ length: 1000 }, (_, i) => ({
      _id: `job-${String(i).padStart(4, '0')}`,
      device: `device-${i % 10}`,
      state: i % 100 === 0 ? 'published' : i % 3 === 0 ? 'done' : 'created',
      number: i,
      due: minutes(i),
      ...(i % 250 === 0 ? { outbox: [{ due: minutes(i) }, { due: minutes(i + 1) }] } : {}),
    })),
  );
}

/** Number of documents that an operation examined. */
async function examined(operation: () => Promise<unknown>): Promise<number> {
  const before = store.statistics.documentsExamined;
  await operation();
  return store.statistics.documentsExamined - before;
}

describe('a query with an index reads only the documents that it returns', () => {
  beforeEach(fill);
  const find = (filter: object, options: object = {}) =>
    examined(() => jobs.find(filter as never, options as never).toArray());

  it('by _id: equality, a list, a range, and sorted', async () => {
    expect(await examined(() => jobs.findOne({ _id: 'job-0500' }))).toBe(1);
    expect(await find({ _id: { $in: ['job-0001', 'job-0002', 'none'] } })).toBe(2);
    expect(await find({ _id: { $gte: 'job-0990' } })).toBe(10);
    expect(await find({}, { sort: { _id: -1 }, limit: 3 })).toBe(3);
  });

  it('by a compound index: equality with range, with its order in both directions, with a limit', async () => {
    expect(await find({ device: 'device-1' })).toBe(100);
    expect(await find({ device: 'device-1', number: 501 })).toBe(1);
    expect(await find({ device: 'device-1', number: { $gte: 900, $lt: 950 } })).toBe(5);
    expect(await find({ device: 'device-1' }, { sort: { number: -1 }, limit: 5 })).toBe(5);
    expect(await find({ device: 'device-1' }, { sort: { number: 1 }, limit: 5, skip: 2 })).toBe(7);
    expect(await find({ device: 'device-1', number: { $gt: 900 } }, { sort: { number: 1 }, limit: 1 })).toBe(
      1,
    );
  });

  it('by a list of values, with ranges merged into the sort order', async () => {
    const filter = { state: { $in: ['published', 'done'] } };
    const options = { sort: { number: 1 }, limit: 10 };
    const found = await jobs.find(filter, options as never).toArray();
    expect(found.map((job) => job.number)).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    expect(await find(filter, options)).toBe(10);
  });

  it('by a partial index only if the filter implies it', async () => {
    expect(await find({ state: 'published', due: { $lte: minutes(250) } }, { sort: { due: 1 } })).toBe(3);
    expect(await find({ state: 'published' }, { sort: { due: -1 }, limit: 2 })).toBe(2);
    expect(await jobs.countDocuments({ due: { $lte: minutes(250) } })).toBe(251);
  });

  it('by a sparse index over array items; a document with two matching items is found once', async () => {
    const filter = { 'outbox.due': { $lte: minutes(251) } };
    expect((await jobs.find(filter as never).toArray()).map((job) => job.number)).toEqual([0, 250]);
    expect(await find(filter)).toBe(2);
  });

  it('to count, no more than the limit', async () => {
    expect(await examined(() => jobs.countDocuments({ state: 'created' }, { limit: 5 }))).toBe(5);
    expect(await jobs.countDocuments({ state: 'created' }, { limit: 5 })).toBe(5);
    expect(await jobs.countDocuments({}, { limit: 5 })).toBe(5);
    expect(await jobs.countDocuments({ state: 'published' }, { limit: 5000 })).toBe(10);
  });

  it('by a range, although another index would return the sort order', async () => {
    await jobs.createIndexes([{ key: { number: 1 } }]);
    expect(await find({ number: { $gte: 990 } }, { sort: { _id: 1 } })).toBe(10);
  });

  it('by $or if each branch has an index', async () => {
    expect(await find({ $or: [{ _id: 'job-0007' }, { device: 'device-3', number: 13 }] })).toBe(2);
  });

  it('for updates and deletions as well', async () => {
    expect(
      await examined(() =>
        jobs.findOneAndUpdate({ state: 'created' }, { $set: { state: 'taken' } }, { sort: { number: 1 } }),
      ),
    ).toBe(1);
    expect(await examined(() => jobs.deleteMany({ device: 'device-2', number: { $lt: 100 } }))).toBe(10);
    expect(await find({ state: 'taken' })).toBe(1);
    expect(await find({ device: 'device-2' })).toBe(90);
  });

  it('after the store was opened again', async () => {
    await store.close();
    await db.close();
    open();
    expect(await find({ device: 'device-1', number: 501 })).toBe(1);
    await expect(jobs.insertOne({ _id: 'new', device: 'device-1', state: 'x', number: 501 })).rejects.toThrow(
      /E11000/,
    );
  });
});

describe('documents of callers are copies', () => {
  it('a document that was passed or returned can be changed without changing the store', async () => {
    const given: Job = { _id: 'a', device: 'd', state: 's', number: 1, outbox: [{ due: minutes(1) }] };
    await jobs.insertOne(given);
    given.outbox?.[0]?.due.setTime(0);
    const first = await jobs.findOneAndUpdate(
      { _id: 'a' },
      { $set: { state: 't' } },
      { returnDocument: 'after' },
    );
    first?.outbox?.[0]?.due.setTime(0);
    const outbox = [{ due: minutes(2) }];
    await jobs.updateOne({ _id: 'a' }, { $push: { outbox: { $each: outbox } } });
    outbox[0]?.due.setTime(0);
    const again = await jobs.findOne({ _id: 'a' });
    expect(again?.outbox).toEqual([{ due: minutes(1) }, { due: minutes(2) }]);
  });

  it('a cursor continues in order and without repetition while documents are inserted and deleted', async () => {
    await fill();
    const seen: number[] = [];
    for await (const job of jobs.find({ device: 'device-1' }, { sort: { number: 1 } })) {
      seen.push(job.number);
      if (job.number === 11) await jobs.deleteMany({ device: 'device-1', number: { $lte: 21 } });
      await jobs.insertOne({
        _id: `x${job.number}`,
        device: 'device-5',
        state: 'x',
        number: 10_000 + job.number,
      });
    }
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.at(-1)).toBe(991);
  });
});

describe('no caller sees a change that a crash could undo', () => {
  it('a read of a change that is not durable, or of its absence, waits for the commit', async () => {
    await jobs.insertOne({ _id: 'old', device: 'd', state: 's', number: 1 });
    void jobs.insertOne({ _id: 'new', device: 'd', state: 's', number: 2 });
    expect(db.hasPendingWrites).toBe(true);
    expect(await jobs.findOne({ _id: 'new' })).not.toBeNull();
    expect(db.hasPendingWrites).toBe(false);
    void jobs.deleteOne({ _id: 'old' });
    expect(await jobs.findOne({ _id: 'old' })).toBeNull();
    expect(db.hasPendingWrites).toBe(false);
    void jobs.updateOne({ _id: 'new' }, { $set: { state: 't' } });
    expect(await jobs.countDocuments({ state: 't' })).toBe(1);
    expect(db.hasPendingWrites).toBe(false);
  });

  it('a failed commit leaves no documents, no cached changes and no indexes', async () => {
    await jobs.insertOne({ _id: 'a', device: 'd', state: 'before', number: 1 });
    await jobs.findOne({ _id: 'a' });
    db.sql.exec(`
      PRAGMA foreign_keys = ON;
      CREATE TABLE parents (id INTEGER PRIMARY KEY);
      CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
    `);
    const other = store.database('test').collection<Job>('others');
    const turn = [
      jobs.updateOne({ _id: 'a' }, { $set: { state: 'after' } }),
      jobs.insertOne({ _id: 'b', device: 'd', state: 'x', number: 2 }),
      jobs.createIndexes([{ key: { number: 1 }, unique: true }]),
      other.insertOne({ _id: 'c', device: 'd', state: 'x', number: 2 }),
      jobs.findOne({ _id: 'a' }),
      db.write(() => db.sql.exec('INSERT INTO children VALUES (1)')),
    ];
    const results = await Promise.allSettled(turn);
    expect(results.map((result) => result.status)).toEqual(turn.map(() => 'rejected'));
    expect((await jobs.find({}).toArray()).map((job) => job.state)).toEqual(['before']);
    expect(await other.countDocuments()).toBe(0);
    await jobs.insertOne({ _id: 'b', device: 'd', state: 'x', number: 1 });
    await other.insertOne({ _id: 'c', device: 'd', state: 'x', number: 2 });
    await expect(jobs.createIndexes([{ key: { number: 1 }, unique: true }])).rejects.toThrow(/E11000/);
    expect(await jobs.countDocuments({ number: 1 })).toBe(2);
  });

  it('an index that contains arrays only since an undone write is complete after the next opening', async () => {
    await jobs.createIndexes([{ key: { 'outbox.due': 1 } }]);
    await jobs.insertOne({ _id: 'a', device: 'd', state: 's', number: 1 });
    db.sql.exec(`
      PRAGMA foreign_keys = ON;
      CREATE TABLE parents (id INTEGER PRIMARY KEY);
      CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
    `);
    const outbox = [{ due: minutes(1) }, { due: minutes(9) }];
    const undone = await Promise.allSettled([
      jobs.insertOne({ _id: 'b', device: 'd', state: 's', number: 2, outbox }),
      db.write(() => db.sql.exec('INSERT INTO children VALUES (1)')),
    ]);
    expect(undone.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await jobs.insertOne({ _id: 'b', device: 'd', state: 's', number: 2, outbox });
    const matching = () =>
      jobs.find({ 'outbox.due': { $gte: minutes(5), $lte: minutes(6) } } as never).toArray();
    const twice = () =>
      jobs.countDocuments({ 'outbox.due': { $gte: minutes(0), $lte: minutes(10) } } as never);
    // One item is above the lower bound, another one below the upper bound: MongoDB finds the document.
    expect((await matching()).map(({ _id }) => _id)).toEqual(['b']);
    expect(await twice()).toBe(1);
    await store.close();
    await db.close();
    open();
    expect((await matching()).map(({ _id }) => _id)).toEqual(['b']);
    expect(await twice()).toBe(1);
  });

  it('a unique index that documents violate is not created', async () => {
    await jobs.insertMany([1, 2].map((n) => ({ _id: `${n}`, device: 'same', state: 's', number: n })));
    const error = await jobs.createIndexes([{ key: { device: 1 }, unique: true }]).catch((e: unknown) => e);
    expect(isDuplicateKey(error)).toBe(true);
    await jobs.insertOne({ _id: '3', device: 'same', state: 's', number: 3 });
    expect(await jobs.countDocuments({ device: 'same' })).toBe(3);
  });
});

it('an invalid write is rejected alone; the other writes of its event loop iteration stay', async () => {
  const job = (_id: string, number: number): Job => ({ _id, device: 'd', state: 's', number });
  await jobs.insertOne(job('a', 1));
  const turn = [
    jobs.updateOne({ _id: 'a' }, { $set: { state: 'first' } }),
    // The store cannot sort code values: this is not a server error.
    jobs.insertOne({ ...job('b', 2), _id: new Code('1') } as never),
    jobs.updateOne({ _id: 'a' }, { $inc: { state: 1 } } as never),
    jobs.insertOne(job('a', 3)),
    jobs.insertOne(job('c', 4)),
  ];
  const results = await Promise.allSettled(turn);
  expect(results.map(({ status }) => status)).toEqual([
    ...['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
  ]);
  expect(results[1]).toMatchObject({ reason: expect.any(TypeError) });
  expect(db.notReady()).toBeUndefined();
  const stored = (await jobs.find({}).toArray()).map(({ _id, state }) => [_id, state]);
  expect(stored).toEqual([
    ['a', 'first'],
    ['c', 's'],
  ]);
});

it('a document is found by its _id whatever was deleted and inserted before', async () => {
  type Id = string | number | ObjectId;
  const things = store.database('test').collection<{ _id: Id; text: string }>('things');
  const pairs: [Id, Id][] = [
    ['one', 'other'],
    [1, 2],
    [new ObjectId(), new ObjectId()],
  ];
  for (const [one, other] of pairs) {
    await things.insertOne({ _id: one, text: 'first' });
    expect(await things.findOne({ _id: one })).toMatchObject({ text: 'first' });
    await things.deleteOne({ _id: one });
    expect(await things.findOne({ _id: one })).toBeNull();
    // The new document gets the record number of the deleted one.
    await things.insertOne({ _id: other, text: 'other' });
    expect(await things.findOne({ _id: other })).toMatchObject({ text: 'other' });
    expect(await things.findOne({ _id: one })).toBeNull();
    await things.insertOne({ _id: one, text: 'second' });
    await things.updateOne({ _id: one }, { $set: { text: 'third' } });
    expect(await things.findOne({ _id: one })).toEqual({ _id: one, text: 'third' });
    expect(await things.find({ _id: { $in: [other, one, one] } }).toArray()).toHaveLength(2);
    await things.deleteMany({});
  }
});

it('the store has a copy of an inserted document: changes of the caller’s object or of the result do not affect it', async () => {
  const job = { _id: 'a', device: 'd', state: 's', number: 1, outbox: [{ due: minutes(1) }] };
  await jobs.insertOne(job);
  job.outbox[0]?.due.setTime(0);
  job.state = 'changed';
  const found = await jobs.findOne({ _id: 'a' });
  expect(found).toMatchObject({ state: 's', outbox: [{ due: minutes(1) }] });
  found?.outbox?.[0]?.due.setTime(0);
  found?.outbox?.push({ due: minutes(2) });
  expect(await jobs.findOne({ _id: 'a' })).toMatchObject({ outbox: [{ due: minutes(1) }] });
});

describe('TTL indexes', () => {
  it('delete expired documents in batches, and no others', async () => {
    await jobs.createIndexes([{ key: { due: 1 }, expireAfterSeconds: 60 }]);
    await jobs.insertMany(
      Array.from({ length: 1000 }, (_, i) => ({
        _id: `${i}`,
        device: 'd',
        state: 's',
        number: i,
        ...(i < 500 ? { due: minutes(0) } : i < 900 ? { due: minutes(60) } : {}),
      })),
    );
    now = minutes(0).getTime() + 59_999;
    expect(await store.sweepExpired()).toBe(0);
    now += 1;
    expect(await store.sweepExpired()).toBe(500);
    expect(await jobs.countDocuments({})).toBe(500);
    expect(await examined(() => store.sweepExpired())).toBe(0);
  });
});

describe('an unsupported feature is rejected by name', () => {
  beforeEach(() => jobs.insertOne({ _id: 'a', device: 'd', state: 's', number: 1 }));

  it.each([
    [{ key: { text: 'text' } }, /the kind "text"/],
    [{ key: { '$**': 1 } }, /the path/],
    [{ key: { 'list.0': 1 } }, /an array index/],
    [{ key: { a: 1 }, collation: { locale: 'ja' } }, /the option collation/],
  ] as const)('the index %j', async (description, message) => {
    await expect(jobs.createIndexes([description as never])).rejects.toThrow(message);
  });

  it.each([
    [{ state: { $regex: '^s' } }, /\$regex/],
    [{ state: /^s/ }, /regular expressions/],
    [{ state: { $in: [/^s/] } }, /regular expressions/],
    [{ state: { $not: /^s/ } }, /\$not/],
    [{ state: { $eq: 's' } }, /\$eq/],
    [{ outbox: { $elemMatch: { due: 1 } } }, /\$elemMatch/],
    [{ outbox: { $all: [1] } }, /\$all/],
    [{ number: { $type: 'int' } }, /\$type/],
    [{ number: { $mod: [2, 1] } }, /\$mod/],
    [{ $nor: [{ number: 1 }] }, /\$nor/],
    [{ $expr: { $gt: ['$number', 1] } }, /\$expr/],
    [{ $where: 'true' }, /\$where/],
  ])('the filter %j', async (filter, message) => {
    await expect(jobs.find(filter as never).toArray()).rejects.toThrow(message);
    await expect(jobs.updateOne(filter as never, { $set: { number: 2 } })).rejects.toThrow(message);
  });

  it.each([
    [{ $mul: { number: 2 } }, /\$mul/],
    [{ $rename: { state: 'other' } }, /\$rename/],
    [{ $bit: { number: { or: 2 } } }, /\$bit/],
    [{ $currentDate: { due: true } }, /\$currentDate/],
    [{ $addToSet: { outbox: 1 } }, /\$addToSet/],
    [{ $pop: { outbox: 1 } }, /\$pop/],
    [{ $pullAll: { outbox: [1] } }, /\$pullAll/],
    [{ $push: { outbox: { $each: [1], $sort: 1 } } }, /\$sort/],
    [{ $push: { outbox: { $each: [1], $position: 0 } } }, /\$position/],
    [{ $set: { 'outbox.$[].due': 1 } }, /array filters/],
    [{ $set: { 'outbox.$[e].due': 1 } }, /array filters/],
    [[{ $set: { number: 2 } }], /pipelines/],
  ])('the update %j', async (update, message) => {
    await expect(jobs.updateOne({ _id: 'a' }, update as never)).rejects.toThrow(message);
    const bulk = [{ updateOne: { filter: { _id: 'a' }, update } }];
    await expect(jobs.bulkWrite(bulk as never)).rejects.toThrow(message);
    expect(await jobs.findOne({ _id: 'a' })).toEqual({ _id: 'a', device: 'd', state: 's', number: 1 });
  });

  it.each([
    { insertOne: { document: { _id: 'b' } } },
    { replaceOne: { filter: { _id: 'a' }, replacement: {} } },
    { deleteMany: { filter: {} } },
  ])('the bulk operation %j', async (operation) => {
    await expect(jobs.bulkWrite([operation as never])).rejects.toThrow(Object.keys(operation)[0]);
  });

  it.each([{ outbox: { $slice: 1 } }, { outbox: { $elemMatch: { due: 1 } } }, { total: '$number' }])(
    'the projection %j',
    async (projection) => {
      await expect(jobs.findOne({}, { projection: projection as never })).rejects.toThrow(/projection/);
    },
  );

  it('the sort direction of a text index', async () => {
    const sort = { state: { $meta: 'textScore' } } as never;
    await expect(jobs.find({}, { sort }).toArray()).rejects.toThrow(/sort direction/);
  });
});

describe('a large bulk', () => {
  const job = (i: number): Job => ({ _id: `job-${i}`, device: 'd', state: 'created', number: i });
  const many = Array.from({ length: 500 }, (_, i) => job(i));

  it('lets other work run between its portions', async () => {
    const bulk = jobs.insertMany(many);
    // Counted when the write takes effect: before it is durable, a slow disk could let the whole bulk pass.
    const between = jobs.insertOne({ ...job(1000), state: 'between' });
    const whenBetween = jobs.countDocuments({});
    await between;
    expect(await whenBetween).toBeLessThan(501);
    expect((await bulk).insertedCount).toBe(500);
    expect(await jobs.countDocuments({})).toBe(501);
  });

  it.each([
    [true, 301, [301]],
    [false, 498, [301, 402]],
  ])(
    'reports rejected writes by their index in the bulk (ordered: %s)',
    async (ordered, inserted, refused) => {
      await jobs.insertMany([job(301), job(402)]);
      const error = await jobs.insertMany(many, { ordered }).catch((e) => e);
      expect(isDuplicateKey(error)).toBe(true);
      expect([error.writeErrors].flat().map((e: { index: number }) => e.index)).toEqual(refused);
      expect(error.insertedCount).toBe(inserted);
      expect(await jobs.countDocuments({})).toBe(inserted + 2);
    },
  );
});
