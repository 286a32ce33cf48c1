import type { Document } from 'mongodb';
import { answer } from './store-answers.ts';
import type { Scenario } from './store-scenarios.ts';

/** A sequence of random operations, the same for the same seed. */
export interface RandomRun {
  readonly seed: number;
  /** The operation of each answer. */
  readonly operations: readonly string[];
  readonly scenario: Scenario;
}

/** Numbers in [0, 1) that depend on the seed only (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

class Maker {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = generator(seed);
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  scalar(): unknown {
    const minute = this.below(4);
    return this.pick([0, 1, 2, 3, 1.5, -1, 'p', 'q', 'r', '', null, true, false, new Date(minute * 60_000)]);
  }

  value(): unknown {
    const kind = this.below(12);
    if (kind === 0) return Array.from({ length: this.below(4) }, () => this.scalar());
    if (kind === 1) return { x: this.scalar(), y: this.scalar() };
    if (kind === 2) return Array.from({ length: this.below(3) }, () => ({ x: this.scalar() }));
    return this.scalar();
  }

  document(_id: number): Document {
    const document: Document = { _id };
    for (const field of ['a', 'b', 'c', 'd']) if (this.below(5) > 0) document[field] = this.value();
    document['n'] = this.below(5);
    return document;
  }

  path(): string {
    return this.pick(['a', 'b', 'c', 'd', 'n', 'a.x', 'b.x', 'c.y', 'missing']);
  }

  condition(): unknown {
    const operator = this.pick([
      '=',
      '=',
      '$gt',
      '$gte',
      '$lt',
      '$lte',
      '$ne',
      '$in',
      '$nin',
      '$exists',
      'range',
      '$not',
    ]);
    if (operator === '=') return this.below(8) === 0 ? this.value() : this.scalar();
    if (operator === '$exists') return { $exists: this.below(2) === 0 };
    if (operator === 'range') return { $gte: this.scalar(), $lt: this.scalar() };
    if (operator === '$not') return { $not: { $gt: this.scalar() } };
    if (operator === '$in' || operator === '$nin') {
      return { [operator]: Array.from({ length: this.below(4) }, () => this.scalar()) };
    }
    return { [operator]: this.scalar() };
  }

  filter(depth = 0): Document {
    if (depth < 2 && this.below(5) === 0) {
      const parts = Array.from({ length: 1 + this.below(2) }, () => this.filter(depth + 1));
      return { [this.pick(['$or', '$and'])]: parts };
    }
    const filter: Document = {};
    for (let i = 0; i <= this.below(3); i++) filter[this.path()] = this.condition();
    return filter;
  }

  sort(): Document {
    return this.below(3) === 0
      ? { _id: this.pick([1, -1]) }
      : { [this.pick(['a', 'b', 'n', 'a.x'])]: this.pick([1, -1]), _id: this.pick([1, -1]) };
  }

  update(): Document {
    const update: Document = {};
    const taken = new Set<unknown>();
    for (let i = 0; i <= this.below(2); i++) {
      const path = this.pick(['a', 'b', 'c', 'd', 'a.x', 'b.y', 'n', 'fresh']);
      // MongoDB rejects conflicting paths, which the scenarios test.
      if (taken.has(path[0])) continue;
      taken.add(path[0]);
      const [operator, operand] = this.pick<[string, unknown]>([
        ['$set', this.value()],
        ['$unset', ''],
        ['$inc', this.pick([1, -2, 0.5])],
        ['$max', this.scalar()],
        ['$min', this.scalar()],
        ['$push', this.scalar()],
        ['$push', { $each: [this.scalar(), this.scalar()], $slice: this.pick([-2, 1, 3]) }],
        ['$pull', this.scalar()],
        ['$pull', { $gte: this.pick([0, 1, 'p']) }],
      ]);
      // MongoDB rejects a $pull below a scalar, some compatible servers ignore it.
      if (path.includes('.') && operator === '$pull') continue;
      update[operator] = { ...update[operator], [path]: operand };
    }
    return Object.keys(update).length > 0 ? update : { $set: { n: 0 } };
  }
}

/** Makes a run of `size.filters` queries and `size.updates` updates over documents of every shape. */
export function randomRun(
  seed: number,
  size: { readonly filters: number; readonly updates: number; readonly indexes?: boolean },
): RandomRun {
  const maker = new Maker(seed);
  const documents = Array.from({ length: 60 }, (_, i) => maker.document(i));
  const queries = Array.from({ length: size.filters }, () => ({
    filter: maker.filter(),
    sort: maker.sort(),
    limit: maker.pick([0, 0, 3]),
  }));
  const changes = Array.from({ length: size.updates }, () => ({
    filter: maker.filter(),
    update: maker.update(),
  }));
  const indexes = [
    { key: { n: 1, a: 1 } },
    { key: { b: -1 } },
    { key: { 'a.x': 1, n: -1 } },
    { key: { c: 1 }, sparse: true },
    { key: { d: 1, _id: 1 }, partialFilterExpression: { n: { $gte: 2 } } },
  ] as const;
  return {
    seed,
    operations: [
      ...queries.map((query) => `find ${JSON.stringify(query)}`),
      ...changes.map((change) => `update ${JSON.stringify(change)}`),
      'all',
      ...queries.map((query) => `find again ${JSON.stringify(query)}`),
    ],
    scenario: async (c) => {
      if (size.indexes) await c.createIndexes(indexes.map((index) => ({ ...index })));
      await c.insertMany(documents.map((document) => ({ ...document })));
      const answers: unknown[] = [];
      const ask = async () => {
        for (const { filter, sort, limit } of queries) {
          const options = { sort: sort as Record<string, 1 | -1>, limit, projection: { _id: 1 } } as const;
          answers.push(await answer(() => c.find(filter, options).toArray()));
        }
      };
      await ask();
      for (const { filter, update } of changes) {
        const options = { sort: { _id: 1 }, returnDocument: 'after' } as const;
        const result = await answer(() => c.findOneAndUpdate(filter, update, options));
        answers.push(pathCount(update) > 1 ? anyError(result) : result);
      }
      answers.push(await answer(() => c.find({}, { sort: { _id: 1 } }).toArray()));
      await ask();
      return answers;
    },
  };
}

function pathCount(update: Document): number {
  return Object.values(update).flatMap((fields) => Object.keys(fields as Document)).length;
}

/** Removes the error code: MongoDB does not promise which error it returns for an update with several errors. */
function anyError(result: unknown): unknown {
  const { error } = (result ?? {}) as { error?: string };
  return error ? { error } : result;
}

/** Differences between the results of two runs, with their operations; empty: none. */
export function differences(plan: RandomRun, one: readonly unknown[], other: readonly unknown[]): string[] {
  return plan.operations.flatMap((operation, i) => {
    const [a, b] = [JSON.stringify(sorted(one[i])), JSON.stringify(sorted(other[i]))];
    return a === b ? [] : [`${operation}\n  one:   ${a}\n  other: ${b}`];
  });
}

/** Sorts fields by name: the order of an answer's fields is not part of the contract. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
