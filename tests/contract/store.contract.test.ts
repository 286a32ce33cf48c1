import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Document } from 'mongodb';
import { itUnless } from '../support/skip.ts';
import { type AnyCollection, answer } from './store-answers.ts';
import { differences, type RandomRun, randomRun } from './store-random.ts';
import {
  filters,
  type Scenario,
  scenarios,
  updated,
  updates,
  varied,
  wrongFilters,
  wrongUpdates,
} from './store-scenarios.ts';
import { embeddedStack, type Stack, serverStack, whyNoServer } from './store-stacks.ts';

/** The embedded store and a MongoDB server return the same results (rule C5). */
const missing = whyNoServer();
if (missing) process.stderr.write(`The embedded store is not compared with a server: ${missing}.\n`);
const onServer = itUnless(missing);

let embedded: Stack;
let server: Stack | undefined;
let count = 0;

beforeAll(async () => {
  embedded = embeddedStack();
  if (!missing) server = await serverStack();
});

afterAll(async () => {
  await embedded?.stop();
  await server?.stop();
});

const run = (stack: Stack, scenario: Scenario): Promise<unknown[]> => {
  const store = stack.connection.database('contract');
  return scenario(store.collection(`c${count++}`) as AnyCollection, store);
};

/** Expects the same results from both stores. */
async function agree(scenario: Scenario): Promise<void> {
  expect(await run(embedded, scenario)).toEqual(await run(server as Stack, scenario));
}

const insertVaried = (c: AnyCollection) => c.insertMany(varied.map((d) => ({ ...d })));

describe(`the embedded store and MongoDB agree${missing ? `: ${missing}` : ''}`, () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    onServer(name, () => agree(scenario));
  }

  const indexSets: Record<string, IndexDescription[]> = {
    'without indexes': [],
    'with indexes': [
      { key: { a: 1 } },
      { key: { b: -1, a: 1 } },
      { key: { 'inner.n': 1 } },
      { key: { tags: 1 } },
      { key: { 'list.k': 1, 'list.v': 1 } },
      { key: { at: -1 }, sparse: true },
      { key: { big: 1 } },
      { key: { flag: 1 }, partialFilterExpression: { flag: true } },
    ],
  };
  for (const [how, indexes] of Object.entries(indexSets)) {
    onServer(`every filter finds the same documents, ${how}`, () =>
      agree(async (c) => {
        if (indexes.length > 0) await c.createIndexes(indexes);
        await insertVaried(c);
        const answers: unknown[] = [];
        for (const filter of filters) {
          const found = await answer(async () =>
            (await c.find(filter, { sort: { _id: 1 } }).toArray()).map((d) => d['_id']),
          );
          answers.push({ filter: JSON.stringify(filter), found });
        }
        return answers;
      }),
    );
  }

  onServer('wrong filters are refused', () =>
    agree(async (c) => {
      await insertVaried(c);
      const answers: unknown[] = [];
      for (const filter of wrongFilters) answers.push(await answer(() => c.find(filter).toArray()));
      return answers;
    }),
  );

  onServer('every update leaves the same document', () =>
    agree(async (c) => {
      const answers: unknown[] = [];
      for (const [i, update] of updates.entries()) {
        await c.insertOne({ _id: i, ...updated });
        const result = await answer(() => c.updateOne({ _id: i }, update as Document));
        answers.push({
          update: JSON.stringify(update),
          result,
          after: await answer(() => c.findOne({ _id: i })),
        });
      }
      return answers;
    }),
  );

  onServer('wrong updates are refused and leave the document as it is', () =>
    agree(async (c) => {
      const answers: unknown[] = [];
      for (const [i, update] of wrongUpdates.entries()) {
        await c.insertOne({ _id: i, ...updated });
        const result = await answer(() => c.updateOne({ _id: i }, update as Document));
        answers.push({
          update: JSON.stringify(update),
          result,
          after: await answer(() => c.findOne({ _id: i })),
        });
      }
      return answers;
    }),
  );
});

describe.each([
  ['embedded', (): Stack => embedded, it],
  ['server', (): Stack => server as Stack, onServer],
] as const)('races on the %s store', (_, stack, test) => {
  const callers = Array.from({ length: 32 }, (_unused, i) => i);
  const fresh = () => stack().connection.database('contract').collection(`race${count++}`) as AnyCollection;

  test('32 callers that raise a value by condition do not overwrite each other', async () => {
    const c = fresh();
    await c.insertOne({ _id: 'n', value: 0, raisedBy: [] });
    const raised = await Promise.all(
      callers.map(async (caller) => {
        let won = 0;
        while (won < 5) {
          const seen = (await c.findOne({ _id: 'n' }))?.['value'] as number;
          const after = await c.findOneAndUpdate(
            { _id: 'n', value: seen },
            { $inc: { value: 1 }, $push: { raisedBy: caller } as Document },
            { returnDocument: 'after' },
          );
          if (after) won += 1;
        }
        return won;
      }),
    );
    const last = await c.findOne({ _id: 'n' });
    expect(last?.['value']).toBe(raised.reduce((a, b) => a + b));
    expect(last?.['raisedBy']).toHaveLength(32 * 5);
  });

  test('a unique index allows one of 32 inserts', async () => {
    const c = fresh();
    await c.createIndexes([{ key: { name: 1 }, unique: true }]);
    const results = await Promise.all(callers.map((i) => answer(() => c.insertOne({ _id: i, name: 'one' }))));
    expect(results.filter((r) => (r as { code?: number }).code === 11000)).toHaveLength(31);
    expect(await c.countDocuments({ name: 'one' })).toBe(1);
  });

  test('32 upserts of one _id create one document, and lose no acknowledged increment', async () => {
    const c = fresh();
    const results = await Promise.all(
      callers.map((i) =>
        answer(() =>
          c.updateOne({ _id: 'u' }, { $inc: { n: 1 }, $push: { by: i } as Document }, { upsert: true }),
        ),
      ),
    );
    const acknowledged = results.filter((r) => (r as { acknowledged?: boolean }).acknowledged).length;
    const found = await c.findOne({ _id: 'u' });
    expect(found?.['n']).toBe(acknowledged);
    expect(found?.['by']).toHaveLength(acknowledged);
    expect(results.filter((r) => (r as { upsertedCount?: number }).upsertedCount === 1)).toHaveLength(1);
  });
});

describe('random operations', () => {
  // Another seed looks elsewhere: STORE_SEED=$RANDOM.
  const seed = Number(process.env['STORE_SEED'] ?? 2026);

  onServer(`answer alike on both stores (STORE_SEED=${seed})`, async () => {
    const plan: RandomRun = randomRun(seed, { filters: 300, updates: 200 });
    const [ours, theirs] = await Promise.all(
      [embedded, server as Stack].map((stack) => run(stack, plan.scenario)),
    );
    expect(differences(plan, ours as unknown[], theirs as unknown[])).toEqual([]);
  });

  it(`are answered the same with and without indexes (STORE_SEED=${seed})`, async () => {
    const indexed = randomRun(seed, { filters: 400, updates: 100, indexes: true });
    const plain = randomRun(seed, { filters: 400, updates: 100, indexes: false });
    const [one, other] = [await run(embedded, indexed.scenario), await run(embedded, plain.scenario)];
    expect(differences(indexed, one, other)).toEqual([]);
  });
});
