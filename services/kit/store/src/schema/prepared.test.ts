import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { createStartUp, type StartUp } from '@headset-cloud/runtime/start-up.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Store } from '../types.ts';
import { prepared, type StepsContext } from './prepared.ts';
import { createStepRunner, type StepsDocument } from './runner.ts';
import type { ServiceSteps } from './steps.ts';

const steps: ServiceSteps = {
  service: 'billing',
  steps: [
    { number: 1, name: 'indexes', indexes: { things: [{ name: 'number', key: { number: 1 } }] } },
    { number: 2, name: 'colours', indexes: { things: [{ name: 'colour', key: { colour: 1 } }] } },
  ],
};
const older: ServiceSteps = { service: 'billing', steps: steps.steps.slice(0, 1) };

let bed: TestBed;
let startUp: StartUp;
let context: StepsContext;

beforeEach(() => {
  bed = openTestBed('billing');
  startUp = createStartUp(bed.logger);
  const store: Store = { ...bed.store, whenReachable: startUp.retry };
  context = { ...bed.context({ channel: () => ({}) as never }), store };
});
afterEach(() => bed.remove());

const state = () => bed.store.collection<StepsDocument>('schema').findOne({ _id: 'steps' });
const run = (what: ServiceSteps) =>
  createStepRunner({ store: bed.store, steps: what, logger: bed.logger, holder: 'prepare' }).attempt();

test('a service runs its steps itself by default', async () => {
  await prepared(context, steps);
  expect(await state()).toMatchObject({ done: 2 });
});

test('with SCHEMA=wait it runs no step, names the missing step and the command for it, and continues once the step is done', async () => {
  let ready = false;
  const waiting = prepared({ ...context, schema: 'wait' }, steps).then(() => {
    ready = true;
  });
  expect(await waitFor('the reason', () => startUp.waitsFor())).toMatch(
    /step 1 \(indexes\) of the database of billing is not done\. This makes it: node services\/prepare\/src\/main\.ts/,
  );
  expect(await state()).toBeNull();
  await run(older);
  await waitFor('the next reason', () => startUp.waitsFor()?.includes('step 2 (colours)'));
  expect(ready).toBe(false);
  await run(steps);
  await waiting;
  expect(startUp.waitsFor()).toBeUndefined();
});

test('with SCHEMA=wait it accepts a database that is newer than the service', async () => {
  await run(steps);
  await prepared({ ...context, schema: 'wait' }, older);
  expect(await state()).toMatchObject({ done: 2 });
});

test('a wait ends when the process stops', async () => {
  const waiting = prepared({ ...context, schema: 'wait' }, steps);
  await waitFor('the reason', () => startUp.waitsFor());
  startUp.stop();
  await expect(waiting).rejects.toMatchObject({ name: 'StartStoppedError' });
});

/** The service's context with a store whose indexes are never finished; `update` runs before each update. */
function slow(update: () => Promise<void> = async () => {}): StepsContext {
  const store: Store = {
    ...context.store,
    collection: (...named) =>
      new Proxy(context.store.collection(...named), {
        get(of, key) {
          if (key === 'createIndexes') return () => new Promise(() => {});
          const value = Reflect.get(of, key) as unknown;
          if (typeof value !== 'function') return value;
          const call = value.bind(of);
          return key === 'updateOne' ? (...args: unknown[]) => update().then(() => call(...args)) : call;
        },
      }) as never,
  };
  return { ...context, store };
}

test('a running step is released before the stop continues', async () => {
  const { instanceId } = context;
  const store = Promise.withResolvers<void>();
  let stopped = false;
  let releases = false;
  const slowly = slow(async () => {
    if (!stopped) return;
    releases = true;
    await store.promise;
  });
  const starting = prepared({ ...slowly, starting: startUp }, steps);
  await waitFor('the claim', async () => (await state())?.holder === instanceId);
  let over = false;
  const ended = starting.finally(() => {
    over = true;
  });
  ended.catch(() => {});
  stopped = true;
  startUp.stop();
  await waitFor('the release of the step', () => releases);
  await new Promise((resolve) => setImmediate(resolve));
  expect(over).toBe(false);
  store.resolve();
  await expect(ended).rejects.toMatchObject({ name: 'StartStoppedError' });
  expect(await state()).not.toHaveProperty('holder');
  // The next run does not wait for a lease.
  await run(steps);
  expect(await state()).toMatchObject({ done: 2 });
});

test('the start names the step it runs, not its earlier wait', async () => {
  await bed.store
    .collection<StepsDocument>('schema')
    .insertOne({ _id: 'steps', done: 1, beat: 1, holder: 'b' });
  const starting = prepared({ ...slow(), starting: startUp }, steps);
  const waits = /another process runs step 2 \(colours\)/;
  expect(await waitFor('the reason', () => startUp.waitsFor())).toMatch(waits);
  await bed.store.collection<StepsDocument>('schema').updateOne({ _id: 'steps' }, { $unset: { holder: '' } });
  const runs = 'runs step 2 (colours) of the database of billing: indexes of things';
  await waitFor('the step', () => startUp.waitsFor() === runs);
  startUp.stop();
  await expect(starting).rejects.toMatchObject({ name: 'StartStoppedError' });
  expect(startUp.waitsFor()).toMatch(waits);
});

test('a start with complete steps does not mention them', async () => {
  await prepared({ ...context, starting: startUp }, steps);
  expect(startUp.waitsFor()).toBeUndefined();
});
