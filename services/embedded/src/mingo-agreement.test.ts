import { describe, expect, it } from '@jest/globals';
import { update as mingoUpdate, Query } from 'mingo';
import type { Document } from 'mongodb';
import { compileFilter } from './filter.ts';
import { compileUpdate } from './update.ts';
import { cloneValue } from './values.ts';

/**
 * The operators that are written here for their speed (filter.ts, update-operators.ts) do what mingo's
 * do, on what mingo does as MongoDB: the contract suite compares the rest with a server.
 */
const documents: Document[] = [
  { _id: 1, n: 1, s: 'a', at: new Date(1), tags: ['x', 'y'], inner: { n: 1 }, list: [{ id: 1, v: 1 }] },
  { _id: 2, n: 2, s: 'b', at: new Date(2), tags: [], inner: { n: 5 }, list: [{ id: 2, v: 0 }] },
  { _id: 3, n: 3, s: null, tags: ['z'], inner: {}, flag: true },
  { _id: 4, s: 'c', list: [], flag: false },
];
const operands = [0, 1, 2, 'a', 'b', 'x', null, true, new Date(1), new Date(5)];

const conditions = operands.flatMap((operand): unknown[] => [
  operand,
  { $eq: operand },
  { $ne: operand },
  { $in: [operand, 3, 'c'] },
  { $nin: [operand, 3, 'c'] },
  ...(operand === null ? [] : [{ $gt: operand }, { $gte: operand }, { $lt: operand }, { $lte: operand }]),
  { $exists: operand !== null },
]);
const paths = ['_id', 'n', 's', 'at', 'tags', 'inner.n', 'list.id', 'flag', 'missing'];

const updates: Document[] = [
  { $set: { n: 9, 'inner.x': 1 } },
  { $set: { at: new Date(9), s: 'new' } },
  { $set: { tags: ['q'] } },
  { $unset: { s: '', 'inner.n': '' } },
  { $inc: { n: 2, fresh: 1 } },
  { $max: { n: 2 } },
  { $min: { n: 2 } },
  { $push: { tags: 'w' } },
  { $push: { tags: { $each: ['v', 'w'], $slice: -2 } } },
  { $pull: { tags: 'x' } },
  { $pull: { list: { id: 1 } } },
  { $addToSet: { tags: 'new' } },
  { $pop: { tags: 1 } },
];

describe('the operators of our own and mingo’s agree', () => {
  it.each(paths)('on every simple condition on %s', (path) => {
    for (const condition of conditions) {
      const filter = { [path]: condition };
      const [ours, mingos] = [compileFilter(filter), new Query(filter as never)];
      for (const document of documents) {
        const name = `${JSON.stringify(filter)} on ${String(document['_id'])}`;
        expect([name, ours(document)]).toEqual([name, mingos.test(document)]);
      }
    }
  });

  it.each(updates)('on the update %j', (update) => {
    for (const document of documents) {
      const [ours, mingos] = [cloneValue(document), cloneValue(document)];
      const touched = compileUpdate(update, {})(ours, { inserting: false, now: 0 });
      const modified = mingoUpdate(mingos, update as never);
      expect(ours).toEqual(mingos);
      expect(touched.length > 0).toBe(modified.length > 0);
    }
  });
});
