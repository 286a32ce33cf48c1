import { expect, test } from '@jest/globals';
import type { Collection } from 'mongodb';
import type { BulkOperation, Filter, FindOptions, IndexDescription, Update } from './operations.ts';
import type { StoreCollection } from './types.ts';

/**
 * Checked by the compiler: the driver's collection is a store's collection, and what the embedded store
 * does not know does not compile (an `@ts-expect-error` that expects in vain is an error).
 */
interface Job {
  _id: string;
  state: 'created' | 'done';
  number: number;
  due?: Date;
  steps: { atMs: number; what: string }[];
}

const driversCollection = (collection: Collection<Job>): StoreCollection<Job> => collection;
const filters: Filter<Job>[] = [
  { _id: 'a', number: { $gte: 1, $not: { $gt: 2 } }, 'steps.atMs': { $exists: true } },
  { $or: [{ state: { $in: ['done'] } }, { steps: { $size: 0 } }] },
  // @ts-expect-error unknown operator
  { _id: { $regex: '^a' } },
  // @ts-expect-error unknown operator beside a known one
  { number: { $gt: 1, $mod: [2, 0] } },
  // @ts-expect-error unknown operator at a dotted path
  { 'steps.what': { $regex: '^a' } },
  // @ts-expect-error unknown operator inside $not
  { number: { $not: { $type: 'int' } } },
  // @ts-expect-error unknown operator inside $or
  { $or: [{ number: { $mod: [2, 0] } }] },
  // @ts-expect-error unknown logical operator
  { $nor: [{ number: 1 }] },
  // @ts-expect-error regular expression
  { _id: /^a/ },
  // @ts-expect-error no such field
  { sate: 'done' },
  // @ts-expect-error value of another type
  { state: 'gone' },
];

const updates: Update<Job>[] = [
  { $set: { state: 'done', 'steps.$.atMs': 1 }, $inc: { number: 1 }, $unset: { due: '' } },
  { $push: { steps: { $each: [{ atMs: 1, what: '' }], $slice: -2 } }, $max: { number: 2 } },
  { $pull: { steps: { atMs: { $lte: 1 } } }, $setOnInsert: { number: 0 }, $min: { due: new Date() } },
  // @ts-expect-error unknown operator
  { $mul: { number: 2 } },
  // @ts-expect-error unknown clause of $push
  { $push: { steps: { $each: [], $sort: 1 } } },
  // @ts-expect-error unknown operator in $pull
  { $pull: { steps: { what: { $regex: '^a' } } } },
  // @ts-expect-error no number
  { $inc: { state: 1 } },
  // @ts-expect-error no array
  { $push: { number: 1 } },
  // @ts-expect-error pipeline
  [{ $set: { number: 1 } }],
];

const options: FindOptions[] = [
  { sort: { number: -1 }, projection: { _id: 0, 'steps.what': 1 }, skip: 1, limit: 1 },
  // @ts-expect-error unknown option
  { collation: { locale: 'ja' } },
  // @ts-expect-error projection operator
  { projection: { steps: { $slice: 1 } } },
];

const operations: BulkOperation<Job>[] = [
  { updateOne: { filter: { _id: 'a' }, update: { $set: { number: 1 } }, upsert: true } },
  { updateMany: { filter: { number: 1 }, update: { $unset: { due: '' } } } },
  { deleteOne: { filter: { _id: 'a' } } },
  // @ts-expect-error unknown operation
  { replaceOne: { filter: { _id: 'a' }, replacement: {} } },
  // @ts-expect-error unknown option
  { updateOne: { filter: {}, update: {}, arrayFilters: [] } },
];

const indexes: IndexDescription[] = [
  { key: { state: 1, number: -1 }, unique: true, partialFilterExpression: { state: 'done' } },
  { key: { due: 1 }, name: 'due', sparse: true, expireAfterSeconds: 0 },
  // @ts-expect-error unknown kind of index
  { key: { state: 'text' } },
  // @ts-expect-error unknown option
  { key: { state: 1 }, collation: { locale: 'ja' } },
];

test('the compiler rejects operations that one of the stores does not support', () => {
  const checked = [driversCollection, filters, updates, options, operations, indexes];
  expect(checked.every(Boolean)).toBe(true);
});
