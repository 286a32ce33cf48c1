import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { IndexDescription } from '../operations.ts';
import type { Store } from '../types.ts';
import { createStepRunner, type StepRunnerOptions, type StepsDocument } from './runner.ts';
import type { ServiceSteps } from './steps.ts';

const byNumber: IndexDescription = { name: 'number', key: { number: 1 }, unique: true };
const byColour: IndexDescription = { name: 'colour', key: { colour: 1 } };
const one: ServiceSteps = {
  service: 'billing',
  steps: [{ number: 1, name: 'indexes', indexes: { things: [byNumber], empty: [] } }],
};
const two: ServiceSteps = {
  service: 'billing',
  steps: [...one.steps, { number: 2, name: 'colours', indexes: { things: [byColour] } }],
};

let bed: TestBed;
/** The created indexes, in order. */
let made: string[];
/** Called before indexes are created. */
let beforeMaking: () => Promise<void>;
let store: Store;

beforeEach(() => {
  bed = openTestBed('billing');
  made = [];
  beforeMaking = async () => {};
  store = {
    collection: (name) => {
      const inner = bed.store.collection(name);
      return {
        // Methods of a class: bound individually.
        ...{
          collectionName: name,
          findOne: inner.findOne.bind(inner),
          insertOne: inner.insertOne.bind(inner),
        },
        ...{ updateOne: inner.updateOne.bind(inner), find: inner.find.bind(inner) },
        async createIndexes(indexes: IndexDescription[]) {
          await beforeMaking();
          made.push(...indexes.map((index) => `${name}.${index.name}`));
          return inner.createIndexes(indexes);
        },
      } as unknown as ReturnType<Store['collection']>;
    },
  } as Store;
});
afterEach(() => bed.remove());

const runner = (more: Partial<StepRunnerOptions> = {}) =>
  createStepRunner({ store, steps: one, logger: bed.logger, holder: 'a', ...more });
const state = () => bed.store.collection<StepsDocument>('schema').findOne({ _id: 'steps' });
const things = () => bed.store.collection<{ _id: number; number: number }>('things');

test('the steps run in order, each once, and the highest is recorded', async () => {
  await runner({ steps: two }).attempt();
  expect(made).toEqual(['things.number', 'things.colour']);
  expect(await state()).toMatchObject({ done: 2 });
  expect(await state()).not.toHaveProperty('holder');
  await runner({ steps: two }).attempt();
  expect(made).toHaveLength(2);
  await things().insertOne({ _id: 1, number: 1 });
  await expect(things().insertOne({ _id: 2, number: 1 })).rejects.toMatchObject({ code: 11000 });
});

test('only missing steps run', async () => {
  await runner().attempt();
  made = [];
  await runner({ steps: two }).attempt();
  expect(made).toEqual(['things.colour']);
  expect(await state()).toMatchObject({ done: 2 });
});

test('an older version accepts a newer database, and does not change its step number', async () => {
  await runner({ steps: two }).attempt();
  made = [];
  await runner().attempt();
  expect(made).toEqual([]);
  expect(await state()).toMatchObject({ done: 2 });
});

test('a database with indexes from before the introduction of steps gets the step number, and keeps its documents', async () => {
  await bed.store.collection('things').createIndexes([byNumber]);
  await things().insertOne({ _id: 1, number: 1 });
  await runner().attempt();
  expect(await state()).toMatchObject({ done: 1 });
  expect(await things().findOne({ _id: 1 })).toEqual({ _id: 1, number: 1 });
});

test('a service without steps stores no document', async () => {
  await runner({ steps: { service: 'connectivity', steps: [] } }).attempt();
  expect(await state()).toBeNull();
});

test('of two concurrent runs one runs the step; the other gets a transient error and later finds the step done', async () => {
  const going = Promise.withResolvers<void>();
  beforeMaking = () => going.promise;
  const first = runner().attempt();
  await waitFor('the claim', async () => (await state())?.holder === 'a');
  const other = runner({ holder: 'b' });
  await expect(other.attempt()).rejects.toMatchObject({
    code: 'unavailable',
    message: 'another process runs step 1 (indexes) of the database of billing',
  });
  going.resolve();
  await first;
  await other.attempt();
  expect(made).toEqual(['things.number']);
});

test('two runs that start at the same moment create the document once', async () => {
  const settled = await Promise.allSettled([runner().attempt(), runner({ holder: 'b' }).attempt()]);
  expect(settled.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
  for (const one of settled) {
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'unavailable' });
  }
  expect(made).toEqual(['things.number']);
  expect(await state()).toMatchObject({ done: 1 });
});

test('takes over a run if its heartbeat does not change for the length of a lease, but not if it rises', async () => {
  const documents = bed.store.collection<StepsDocument>('schema');
  await documents.insertOne({ _id: 'steps', done: 0, holder: 'gone', beat: 7 });
  const time = createFakeTime();
  const watching = runner({ leaseMs: 10_000, time });
  const refused = () => expect(watching.attempt()).rejects.toMatchObject({ code: 'unavailable' });
  await refused();
  await time.advance(9000);
  await refused();
  await documents.updateOne({ _id: 'steps' }, { $inc: { beat: 1 } });
  await time.advance(9000);
  await refused();
  await time.advance(9999);
  await refused();
  expect(made).toEqual([]);
  await time.advance(1);
  await watching.attempt();
  expect(made).toEqual(['things.number']);
  expect(await state()).toEqual({ _id: 'steps', done: 1, beat: 9 });
});

test('the heartbeat rises during a step of any duration', async () => {
  const going = Promise.withResolvers<void>();
  beforeMaking = () => going.promise;
  const run = runner({ leaseMs: 20 }).attempt();
  await waitFor('some beats', async () => ((await state())?.beat ?? 0) >= 4);
  going.resolve();
  await run;
  expect(await state()).toMatchObject({ done: 1 });
});

test('with an exclusive store, a holder in the document is dead', async () => {
  const documents = bed.store.collection<StepsDocument>('schema');
  await documents.insertOne({ _id: 'steps', done: 0, holder: 'gone', beat: 7 });
  await runner({ alone: true }).attempt();
  expect(await state()).toMatchObject({ done: 1 });
});

test('a run that was wrongly considered dead does not lower the number that the next run stored', async () => {
  const going = Promise.withResolvers<void>();
  beforeMaking = () => going.promise;
  const slow = runner().attempt();
  await waitFor('the claim', async () => (await state())?.holder === 'a');
  beforeMaking = async () => {};
  await runner({ holder: 'b', alone: true, steps: two }).attempt();
  going.resolve();
  await slow;
  expect(await state()).toMatchObject({ done: 2 });
});

test('a step that fails or is stopped is released at once', async () => {
  beforeMaking = async () => {
    throw new Error('no space');
  };
  await expect(runner().attempt()).rejects.toThrow('no space');
  expect(await state()).toEqual({ _id: 'steps', done: 0, beat: 1 });

  beforeMaking = () => new Promise(() => {});
  const stop = new AbortController();
  const stopped = runner({ signal: stop.signal }).attempt();
  await waitFor('the claim', async () => (await state())?.holder === 'a');
  stop.abort(new Error('stopped'));
  await expect(stopped).rejects.toThrow('stopped');
  expect(await state()).not.toHaveProperty('holder');

  beforeMaking = async () => {};
  await runner({ holder: 'b' }).attempt();
  expect(await state()).toMatchObject({ done: 1 });
});

test('indexes are created on the connection for long work if the store has one', async () => {
  let long = 0;
  const forLongWork: NonNullable<Store['forLongWork']> = async (work) => {
    long += 1;
    return work(store);
  };
  await runner({ store: { ...bed.store, collection: bed.store.collection, forLongWork } }).attempt();
  expect(long).toBe(1);
  expect(made).toEqual(['things.number']);
});
