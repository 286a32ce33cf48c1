import type { Store } from '@headset-cloud/store/types.ts';
import { Binary, type Document, Long, ObjectId } from 'mongodb';
import { type AnyCollection, answer } from './store-answers.ts';

/** Runs operations on a separate collection and returns the results, one after the other. */
export type Scenario = (collection: AnyCollection, store: Store) => Promise<unknown[]>;

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));

/** Documents with every type and shape that queries treat specially. */
export const varied: Document[] = [
  { _id: 1, a: 1, b: 'x', at: at(1), tags: ['red', 'blue'], inner: { n: 1, s: 'p' } },
  { _id: 2, a: 2, b: 'y', at: at(2), tags: [], inner: { n: 2 } },
  { _id: 3, a: null, b: 'z', tags: ['red'], inner: null },
  {
    _id: 4,
    b: 'x',
    at: at(4),
    list: [
      { k: 1, v: 'p' },
      { k: 2, v: 'q' },
    ],
  },
  { _id: 5, a: 2.5, at: at(3), list: [{ k: 2, v: 'p' }], inner: { n: [1, 5] } },
  { _id: 6, a: 'text', b: 1, list: [], flag: true },
  { _id: 7, a: [1, 7], b: null, flag: false, bytes: new Binary(Buffer.from([0xff, 0xfe])) },
  { _id: 8, a: at(9), big: Long.fromString('9007199254740993'), at: at(2) },
  { _id: 9, a: new ObjectId('00000000000000000000000a'), bytes: new Binary(Buffer.from([0xff, 0xfd])) },
  { _id: 10, a: { x: 1, y: 2 }, b: 'é\u{1f600}', big: Long.fromString('9007199254740995') },
  { _id: 11, a: { y: 2, x: 1 }, b: 'éa', a0: -1.5 },
  { _id: 12, a: true, 'b-c': -3, list: [{ k: null }, { v: 'q' }] },
];

const oid = new ObjectId('00000000000000000000000a');

/** Filters with equal results, each over `varied`. */
export const filters: Document[] = [
  {},
  { a: 1 },
  { a: null },
  { a: undefined },
  { a: { $ne: null } },
  { a: { $ne: 1 } },
  { a: { $in: [1, null] } },
  { a: { $in: [1, 'text'] } },
  { a: { $in: [] } },
  { a: { $nin: [1, 2] } },
  { a: { $gt: 1 } },
  { a: { $gte: 1, $lt: 2.5 } },
  { a: { $lt: 'z' } },
  { a: { $gte: null } },
  { a: { $gt: at(0) } },
  { a: { $lte: true } },
  { a: oid },
  { a: [1, 7] },
  { a: { x: 1, y: 2 } },
  { 'a.x': 1 },
  { a: { $exists: true } },
  { a: { $exists: false } },
  { 'inner.n': { $exists: true } },
  { 'inner.n': 1 },
  { 'inner.n': { $gt: 1, $lt: 5 } },
  { 'inner.n': { $gt: 2, $lt: 4 } },
  { 'inner.n': null },
  { at: null },
  { at: { $exists: false } },
  { tags: 'red' },
  { tags: { $size: 0 } },
  { tags: { $size: 2 } },
  { tags: { $not: { $size: 0 } } },
  { 'list.k': { $size: 2 } },
  { 'inner.n': { $size: 2 } },
  { a: { $size: 2 }, b: null },
  { tags: [] },
  { tags: { $ne: 'red' } },
  { 'tags.0': 'red' },
  { 'list.k': 2 },
  { 'list.k': null },
  { 'list.k': { $exists: true } },
  { 'list.0.k': 2 },
  { list: [] },
  { b: { $not: { $in: ['x', null] } } },
  { bytes: new Binary(Buffer.from([0xff, 0xfd])) },
  { big: { $gt: Long.fromString('9007199254740993') } },
  { big: Long.fromString('9007199254740995') },
  { at: { $gte: at(2), $lt: at(4) } },
  { $or: [{ a: 1 }, { b: 'x' }] },
  { $or: [{ _id: 1 }, { _id: { $gt: 10 } }], flag: { $exists: false } },
  { $and: [{ a: { $gte: 1 } }, { a: { $lte: 2 } }] },
  { flag: false },
  { _id: { $in: [3, 1, 99] } },
  { _id: { $gt: 3, $lte: 6 } },
  { _id: { $ne: 3 } },
  { a: NaN },
  { 'b-c': -3 },
  { missing: { $lt: 5 } },
];

/** Filters that a server rejects. */
export const wrongFilters: Document[] = [
  { a: { $wrong: 1 } },
  { $wrong: [] },
  { $or: [] },
  { $and: 'x' },
  { a: { $in: 5 } },
  { a: { $not: 5 } },
  { tags: { $size: -1 } },
  { tags: { $size: 'x' } },
];

/** Updates, each applied to a separate document that looks like `updated`. */
export const updated: Document = {
  n: 1,
  s: 'x',
  f: 1.5,
  at: at(5),
  tags: ['a', 'b', 'a'],
  list: [
    { id: 1, v: 1 },
    { id: 2, v: 2 },
    { id: 3, v: 3 },
  ],
  inner: { a: 1, b: { c: 2 } },
  none: null,
  bytes: new Binary(Buffer.from([0xff, 0x01])),
};

/** Updates with equal results. */
export const updates: Document[] = [
  { $set: { n: 1 } },
  { $set: { n: 2, s: 'y', 'inner.b.c': 3, 'inner.new.deep': true } },
  { $set: { s: undefined } },
  { $set: { bytes: new Binary(Buffer.from([0xfe, 0x01])) } },
  { $set: { 'list.1.v': 20 } },
  { $set: { 'list.5': 'x' } },
  { $set: { inner: { b: { c: 2 }, a: 1 } } },
  { $set: { z: 1, y: 2, 'inner.z': 1 } },
  { $unset: { s: '' } },
  { $unset: { 'inner.b.c': '', missing: '' } },
  { $unset: { 'list.0': '' } },
  { $unset: { 'n.x': '' } },
  { $setOnInsert: { 'n.x': 1 } },
  { $inc: { n: 5 } },
  { $inc: { n: -1.5, f: 1, counter: 3 } },
  { $inc: { n: 0 } },
  { $inc: { 'inner.a': 1, 'list.0.v': 10 } },
  { $max: { n: 5, f: 1, m: 3 } },
  { $max: { n: 'text', at: at(1) } },
  { $min: { n: -1, f: 9, at: at(1) } },
  { $min: { n: null } },
  { $push: { tags: 'c' } },
  { $push: { tags: { $each: ['c', 'd'], $slice: -3 } } },
  { $push: { tags: { $each: [], $slice: 1 } } },
  { $push: { fresh: 1, 'inner.list': { x: 1 } } },
  { $pull: { tags: 'a' } },
  { $pull: { tags: { $in: ['b', 'zz'] } } },
  { $pull: { list: { id: 2 } } },
  { $pull: { list: { id: { $lte: 2 } } } },
  { $pull: { list: { id: 1, v: 2 } } },
  { $pull: { missing: 1 } },
  { $setOnInsert: { n: 99 } },
  { $set: { n: 7 }, $setOnInsert: { s: 'never' }, $unset: { f: '' }, $push: { tags: 'last' } },
];

/** Updates that a server or the driver rejects. */
export const wrongUpdates: (Document | Document[])[] = [
  {},
  { n: 1 },
  [],
  { $wrong: { n: 1 } },
  { $set: { n: 1 }, $inc: { n: 1 } },
  { $set: { inner: 1, 'inner.a': 2 } },
  { $set: { 'n.x': 1 } },
  { $set: { 'none.x': 1 } },
  { $set: { 'list.x': 1 } },
  { $set: { _id: 'other' } },
  { $set: { '': 1 } },
  { $set: { 'a..b': 1 } },
  { $inc: { s: 1 } },
  { $inc: { n: 'x' } },
  { $push: { s: 1 } },
  { $pull: { s: 1 } },
  { $push: { tags: { $each: 'x' } } },
  { $set: { 'list.$.v': 1 } },
  { $set: 5 },
];

/** Documents and operands; each is compared with each. */
const compared: Document[] = [
  { _id: 1, n: 1, s: 'a', at: new Date(1), tags: ['x', 'y'], inner: { n: 1 }, list: [{ id: 1, v: 1 }] },
  { _id: 2, n: 2, s: 'b', at: new Date(2), tags: [], inner: { n: 5 }, list: [{ id: 2, v: 0 }] },
  { _id: 3, n: 3, s: null, tags: ['z'], inner: {}, flag: true },
  { _id: 4, s: 'c', list: [], flag: false },
];
const comparedPaths = ['_id', 'n', 's', 'at', 'tags', 'inner.n', 'list.id', 'flag', 'missing'];
const operands = [0, 1, 2, 'a', 'b', 'x', null, true, new Date(1), new Date(5)];
const comparisons = operands.flatMap((operand): unknown[] => [
  operand,
  { $ne: operand },
  { $in: [operand, 3, 'c'] },
  { $nin: [operand, 3, 'c'] },
  { $gt: operand },
  { $gte: operand },
  { $lt: operand },
  { $lte: operand },
  { $not: { $gte: operand } },
]);

const seed = (collection: AnyCollection) => collection.insertMany(varied.map((d) => ({ ...d })));

/** Independent sequences of operations. */
export const scenarios: Record<string, Scenario> = {
  'every comparison with every operand finds the same documents': async (c) => {
    await c.insertMany(compared.map((d) => ({ ...d })));
    const answers: unknown[] = [];
    for (const path of comparedPaths) {
      for (const comparison of comparisons) {
        const filter: Document = { [path]: comparison };
        const found = await c.find(filter, { sort: { _id: 1 } }).toArray();
        answers.push(`${path} ${JSON.stringify(comparison)}: ${found.map((d) => d['_id']).join(' ')}`);
      }
    }
    return answers;
  },
  'every update changes documents of other shapes alike': async (c) => {
    const answers: unknown[] = [];
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
    ];
    for (const update of updates) {
      await c.deleteMany({});
      await c.insertMany(compared.map((d) => ({ ...d })));
      answers.push({
        update: JSON.stringify(update),
        result: await answer(() => c.updateMany({}, update)),
        after: await answer(() => c.find({}, { sort: { _id: 1 } }).toArray()),
      });
    }
    return answers;
  },
  'sorts order every type as MongoDB does': async (c) => {
    await seed(c);
    const ids = async (sort: Document) =>
      (await c.find({}, { sort: { ...sort, _id: 1 } as never }).toArray()).map((d) => d['_id']);
    return Promise.all([
      ids({ a: 1 }),
      ids({ a: -1 }),
      ids({ b: 1 }),
      ids({ b: -1, a: 1 }),
      ids({ 'inner.n': 1 }),
      ids({ 'inner.n': -1 }),
      ids({ 'list.k': -1 }),
      ids({ at: 1 }),
      ids({ big: -1 }),
      ids({ bytes: 1 }),
      ids({ tags: 1 }),
    ]);
  },
  'projections, skip and limit': async (c) => {
    await seed(c);
    const project = (projection: Document, filter: Document = { _id: { $in: [1, 4, 5, 7] } }) =>
      answer(() => c.find(filter, { projection, sort: { _id: 1 } }).toArray());
    return [
      await project({ a: 1 }),
      await project({ a: 1, _id: 0 }),
      await project({ _id: 1 }),
      await project({ list: 0, tags: 0 }),
      await project({ _id: 0 }),
      await project({ 'list.k': 1, 'inner.n': 1 }),
      await project({ 'list.k': 0 }),
      await project({ missing: true }),
      await answer(() =>
        c.find({}, { sort: { _id: -1 }, skip: 2, limit: 3, projection: { _id: 1 } }).toArray(),
      ),
      await answer(() => c.findOne({ a: { $gt: 1 } }, { sort: { _id: -1 }, projection: { b: 1 } })),
      await answer(() => c.findOne({ _id: 'nobody' })),
      await answer(() => c.countDocuments({ a: { $gte: 1 } })),
      await answer(() => c.countDocuments({}, { limit: 5 })),
      await answer(() => c.countDocuments()),
    ];
  },
  'inserts return ids, keep types and reject duplicates': async (c) => {
    const made: Document = {
      n: 1,
      when: at(1),
      nothing: undefined,
      nested: { u: undefined, list: [undefined, 1] },
    };
    return [
      await answer(() => c.insertOne(made)),
      made['_id'] instanceof ObjectId,
      await answer(() => c.insertOne({ _id: 'a', n: 12345678901, small: 1.5, neg: -0.5 })),
      await answer(() => c.insertOne({ _id: 'a' })),
      await answer(() => c.insertOne({ _id: ['x'] } as never)),
      await answer(() => c.insertMany([{ _id: 'b' }, { _id: 'a' }, { _id: 'c' }])),
      await answer(() => c.insertMany([{ _id: 'd' }, { _id: 'a' }, { _id: 'e' }], { ordered: false })),
      await answer(() => c.insertMany([{ _id: 'f' }, { _id: 'g' }])),
      await answer(() => c.insertMany([])),
      await answer(() => c.insertOne({ _id: 1 })),
      await answer(() => c.insertOne({ _id: Long.fromNumber(1) } as never)),
      await answer(() => c.insertOne({ _id: { a: 1 } } as never)),
      await answer(() => c.insertOne({ _id: { a: 1 } } as never)),
      await answer(() => c.find({}, { sort: { _id: 1 } }).toArray()),
    ];
  },
  'updates return counts, upserts and the document before or after': async (c) => {
    await seed(c);
    return [
      await answer(() => c.updateOne({ _id: 1 }, { $set: { a: 5 } })),
      await answer(() => c.updateOne({ _id: 1 }, { $set: { a: 5 } })),
      await answer(() => c.updateOne({ _id: 99 }, { $set: { a: 5 } })),
      await answer(() => c.updateMany({ b: 'x' }, { $inc: { seen: 1 } })),
      await answer(() => c.updateMany({ b: 'nobody' }, { $inc: { seen: 1 } })),
      await answer(() => c.updateMany({}, { $inc: { a: 1 } })),
      await answer(() =>
        c.updateOne({ _id: 50, b: 'new' }, { $set: { a: 1 }, $setOnInsert: { s: 2 } }, { upsert: true }),
      ),
      await answer(() =>
        c.updateOne({ _id: 50 }, { $set: { a: 2 }, $setOnInsert: { s: 3 } }, { upsert: true }),
      ),
      await answer(() => c.updateOne({ b: 'auto', a: { $gt: 5 } }, { $inc: { n: 1 } }, { upsert: true })),
      await answer(() =>
        c.updateOne({ 'x.y': 1, $and: [{ z: 2 }] }, { $push: { l: 1 } as Document }, { upsert: true }),
      ),
      await answer(() => c.updateOne({ b: 'own' }, { $setOnInsert: { _id: 51 } }, { upsert: true })),
      await answer(() => c.updateMany({ _id: 52 }, { $set: { q: 1 } }, { upsert: true })),
      await answer(() => c.findOneAndUpdate({ _id: 2 }, { $set: { a: 20 } })),
      await answer(() => c.findOneAndUpdate({ _id: 2 }, { $set: { a: 21 } }, { returnDocument: 'after' })),
      await answer(() => c.findOneAndUpdate({ _id: 98 }, { $set: { a: 1 } }, { returnDocument: 'after' })),
      await answer(() => c.findOneAndUpdate({ _id: 98 }, { $set: { a: 1 } }, { upsert: true })),
      await answer(() =>
        c.findOneAndUpdate({ _id: 97 }, { $inc: { a: 1 } }, { upsert: true, returnDocument: 'after' }),
      ),
      await answer(() =>
        c.findOneAndUpdate(
          { b: 'x' },
          { $set: { picked: true } },
          { sort: { _id: -1 }, projection: { picked: 1, b: 1 }, returnDocument: 'after' },
        ),
      ),
      await answer(() => c.find({}, { sort: { _id: 1 } }).toArray()),
    ];
  },
  'positional updates change the matched item': async (c) => {
    await c.insertOne({ _id: 1, ...updated });
    const after = { returnDocument: 'after', projection: { list: 1, tags: 1 } } as const;
    return [
      await answer(() => c.findOneAndUpdate({ _id: 1, 'list.id': 2 }, { $set: { 'list.$.v': 22 } }, after)),
      await answer(() =>
        c.findOneAndUpdate({ _id: 1, 'list.id': { $gte: 3 } }, { $inc: { 'list.$.v': 30 } }, after),
      ),
      await answer(() => c.findOneAndUpdate({ _id: 1, tags: 'b' }, { $set: { 'tags.$': 'B' } }, after)),
      // The first change makes the item no longer match; the second means the same item.
      await answer(() =>
        c.findOneAndUpdate({ _id: 1, 'list.id': 2 }, { $set: { 'list.$.id': 9, 'list.$.v': 99 } }, after),
      ),
      await answer(() => c.findOneAndUpdate({ _id: 1, 'list.id': 9 }, { $set: { 'list.$.id': 2 } }, after)),
      await answer(() => c.findOne({ _id: 1 })),
    ];
  },
  'an update below a field changes neither returned documents nor other fields': async (c) => {
    const first = {
      a: { b: { c: 1, kept: [1] } },
      list: [
        { id: 1, v: 1 },
        { id: 2, v: 2 },
      ],
      other: { x: 1 },
    };
    await c.insertOne({ _id: 1, ...first } as never);
    const nested = { 'a.b.c': 2, 'a.b.d': 3, 'list.1.v': 20, 'list.2': { id: 3 } };
    const before = await answer(() => c.findOneAndUpdate({ _id: 1 }, { $set: nested }));
    return [
      before,
      await answer(() => c.findOne({ _id: 1 })),
      // An update without a change, and an update that is rejected halfway.
      await answer(() => c.updateOne({ _id: 1 }, { $set: { 'a.b.c': 2 } })),
      await answer(() => c.updateOne({ _id: 1 }, { $set: { 'a.b.c': 9, 'other.x.y': 1 } })),
      await answer(() =>
        c.findOneAndUpdate({ _id: 1 }, { $unset: { 'a.b.kept': '' }, $inc: { 'list.0.v': 1 } }),
      ),
      await answer(() => c.findOne({ _id: 1 })),
    ];
  },
  'deletes return counts': async (c) => {
    await seed(c);
    return [
      await answer(() => c.deleteOne({ b: 'x' })),
      await answer(() => c.deleteOne({ _id: 99 })),
      await answer(() => c.deleteMany({ _id: { $gte: 10 } })),
      await answer(() => c.countDocuments()),
      await answer(() => c.deleteMany({})),
      await answer(() => c.countDocuments()),
    ];
  },
  'bulk writes run in order until the first error, or all of them': async (c) => {
    await seed(c);
    const operations = () => [
      { updateOne: { filter: { _id: 20 }, update: { $inc: { a: 1 } }, upsert: true } },
      { updateOne: { filter: { _id: 20 }, update: { $inc: { a: 1 } } } },
      { updateMany: { filter: { b: 'x' }, update: { $set: { b: 'X' } } } },
      { updateOne: { filter: { _id: 21 }, update: { $set: { a: 1 } }, upsert: true } },
      // The document exists and does not match: the upsert inserts it a second time.
      { updateOne: { filter: { _id: 1, a: 'no' }, update: { $set: { a: 2 } }, upsert: true } },
      { updateOne: { filter: { _id: 2 }, update: { $set: { whole: 'new' } } } },
      { updateOne: { filter: { _id: 22 }, update: { $set: { whole: 'new' } }, upsert: true } },
      { deleteOne: { filter: { _id: 3 } } },
      { deleteOne: { filter: { _id: { $gt: 10, $lt: 13 } } } },
    ];
    return [
      await answer(() => c.bulkWrite(operations())),
      await answer(() => c.find({}, { sort: { _id: 1 } }).toArray()),
      await answer(() => c.bulkWrite(operations().slice(4), { ordered: false })),
      await answer(() => c.bulkWrite(operations().slice(5, 8))),
      await answer(() => c.bulkWrite([])),
      await answer(() => c.bulkWrite([{ updateOne: { filter: {}, update: { a: 1 } } }] as never)),
      await answer(() => c.find({}, { sort: { _id: 1 } }).toArray()),
    ];
  },
  'unique indexes reject duplicates of every kind of write': async (c) => {
    return [
      await answer(() =>
        c.createIndexes([
          { key: { k: 1 }, unique: true },
          { key: { x: 1, y: -1 }, unique: true },
        ]),
      ),
      await answer(() => c.createIndexes([{ key: { k: 1 }, unique: true }])),
      await answer(() => c.insertOne({ _id: 1, k: 'a', x: 1, y: 1 })),
      await answer(() => c.insertOne({ _id: 2, k: 'a', x: 2, y: 1 })),
      await answer(() => c.insertOne({ _id: 2, k: 'b', x: 1, y: 1 })),
      await answer(() => c.insertOne({ _id: 2, k: 'b', x: 1, y: 2 })),
      await answer(() => c.updateOne({ _id: 2 }, { $set: { k: 'a' } })),
      await answer(() => c.updateOne({ _id: 2 }, { $set: { k: 'b' } })),
      await answer(() => c.findOneAndUpdate({ _id: 2 }, { $set: { y: 1 } })),
      await answer(() => c.updateOne({ k: 'a', _id: 9 }, { $set: { x: 7 } }, { upsert: true })),
      await answer(() => c.insertOne({ _id: 1, k: 'a', x: 1, y: 1 })),
      await answer(() => c.insertOne({ _id: 3, x: 3 })),
      await answer(() => c.insertOne({ _id: 4, x: 4 })),
      await answer(() => c.insertOne({ _id: 4, k: null, x: 5 })),
      await answer(() => c.deleteOne({ _id: 1 })),
      await answer(() => c.insertOne({ _id: 5, k: 'a', x: 1, y: 1 })),
      await answer(() => c.createIndexes([{ key: { same: 1 }, unique: true }])),
      await answer(() => c.find({}, { sort: { _id: 1 } }).toArray()),
    ];
  },
  'sparse, partial and array indexes contain the right documents': async (c) => {
    await c.createIndexes([
      { key: { s: 1 }, unique: true, sparse: true },
      { key: { p: 1 }, unique: true, partialFilterExpression: { live: true } },
      { key: { tags: 1 }, unique: true, sparse: true },
    ]);
    return [
      await answer(() => c.insertMany([{ _id: 1 }, { _id: 2 }, { _id: 3, s: 1 }])),
      await answer(() => c.insertOne({ _id: 4, s: 1 })),
      await answer(() =>
        c.insertMany([
          { _id: 5, p: 1 },
          { _id: 6, p: 1 },
          { _id: 7, p: 1, live: true },
        ]),
      ),
      await answer(() => c.insertOne({ _id: 8, p: 1, live: true })),
      await answer(() => c.updateOne({ _id: 5 }, { $set: { live: true } })),
      await answer(() => c.updateOne({ _id: 7 }, { $unset: { live: '' } })),
      await answer(() => c.updateOne({ _id: 5 }, { $set: { live: true } })),
      await answer(() => c.insertOne({ _id: 9, tags: ['a', 'b', 'a'] })),
      await answer(() => c.insertOne({ _id: 10, tags: ['c', 'b'] })),
      await answer(() => c.insertOne({ _id: 11, tags: 'a' })),
      await answer(() => c.find({ s: { $exists: false } }, { sort: { _id: 1 } }).toArray()),
      await answer(() => c.find({ s: null }, { sort: { _id: 1 } }).toArray()),
      await answer(() => c.find({ p: 1 }, { sort: { _id: 1 } }).toArray()),
      await answer(() => c.find({ p: 1, live: true }).toArray()),
      await answer(() => c.find({ tags: { $in: ['a', 'b'] } }).toArray()),
    ];
  },
  'a partial unique index over two fields, with a second index': async (c) => {
    await c.createIndexes([
      { key: { 'active.owner': 1, 'active.slot': 1 }, name: 'all' },
      {
        key: { 'active.slot': 1, 'active.owner': 1 },
        name: 'one',
        unique: true,
        partialFilterExpression: { 'active.slot': { $exists: true } },
      },
    ]);
    await c.insertMany([
      { _id: 1 },
      { _id: 2, active: { owner: 'a' } },
      { _id: 3, active: { owner: 'a' } },
      { _id: 4, active: { owner: 'a', slot: 0 } },
      { _id: 5, active: { owner: 'b', slot: 0 } },
      { _id: 6, active: { owner: 'a', slot: 7 } },
    ]);
    const of = (slot: null | { $gte: number; $lt?: number }, direction: 1 | -1 = 1) =>
      c.find({ 'active.owner': 'a', 'active.slot': slot }, { sort: { 'active.slot': direction } }).toArray();
    return [
      await answer(() => c.updateOne({ _id: 2 }, { $set: { 'active.slot': 0 } })),
      await answer(() => c.updateOne({ _id: 2 }, { $set: { 'active.slot': 1 } })),
      await answer(() => of(null)),
      await answer(() => of({ $gte: 0 }, -1)),
      await answer(() => of({ $gte: 1, $lt: 7 })),
      await answer(() => c.countDocuments({ 'active.owner': 'a', 'active.slot': { $gte: 0, $lt: 7 } })),
      await answer(() => c.updateOne({ _id: 4 }, { $unset: { active: '' } })),
      await answer(() => c.updateOne({ _id: 3 }, { $set: { 'active.slot': 0 } })),
      await answer(() =>
        c.bulkWrite(
          [1, 0, 8].map((slot, i) => ({
            updateOne: { filter: { _id: i + 1 }, update: { $set: { active: { owner: 'a', slot } } } },
          })),
          { ordered: false },
        ),
      ),
      await answer(() => c.find({}, { sort: { _id: 1 } }).toArray()),
    ];
  },
  'a sort over arrays uses the least or the greatest item': async (c) => {
    await c.createIndexes([{ key: { tags: 1 } }, { key: { lone: 1 }, sparse: true }]);
    await c.insertMany([
      { _id: 1, tags: [1, 9] },
      { _id: 2, tags: [5, 6], lone: 2 },
      { _id: 3, tags: 7, lone: 1 },
    ]);
    const ids = async (filter: Document, sort: Record<string, 1 | -1>) =>
      (await c.find(filter, { sort }).toArray()).map((d) => d['_id']);
    return [
      await ids({ tags: { $gte: 4 } }, { tags: 1 }),
      await ids({ tags: { $lte: 8 } }, { tags: -1 }),
      await ids({}, { lone: 1 }),
    ];
  },
  'index names and rejected indexes': async (c) => [
    await answer(() => c.createIndexes([{ key: { a: 1, 'b.c': -1 } }, { key: { a: 1 }, name: 'mine' }])),
    await answer(() => c.createIndexes([{ key: { a: 1 }, name: 'mine' }])),
    await answer(() => c.createIndexes([{ key: { b: 1 }, name: 'mine' }])),
    await answer(() => c.createIndexes([{ key: { a: 1 }, name: 'mine', unique: true }])),
    await answer(() => c.createIndexes([{ key: { t: 1 }, expireAfterSeconds: 60 }])),
  ],
  'a service reads its own writes': async (c, store) => {
    const answers: unknown[] = [];
    for (let i = 0; i < 20; i++) {
      await c.insertOne({ _id: i, n: i });
      answers.push((await c.findOne({ _id: i }))?.['n'], await c.countDocuments({ n: i }));
    }
    answers.push(await store.collection('never-written').countDocuments({}));
    answers.push(await store.collection('never-written').find({}).toArray());
    return answers;
  },
};
