import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createForgottenApplications } from './forgotten-applications.ts';
import type { DeliveryDocument } from './store/documents.ts';
import { deliveriesCollection } from './store/indexes.ts';
import { openWorld, type World } from './testing/world.ts';

/** Forgetting an application's callbacks (ADR 0047). */

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const stored = async () =>
  (
    await world.store
      .collection<DeliveryDocument>(deliveriesCollection)
      .find({}, { sort: { _id: 1 } })
      .toArray()
  ).map(({ _id }) => _id);

test('undelivered callbacks are removed, too, and events that are still in the log are dropped', async () => {
  const { admin } = await world.start();
  const forget = (dryRun = false) =>
    admin.forgetApplication({ applicationId: 'a-1', reference: 'R', run: 'run', dryRun });
  await world.publish(
    { notificationId: 'n1', applicationId: 'a-1' },
    { notificationId: 'n2', applicationId: 'a-2' },
  );
  await waitFor('both', async () => (await stored()).length === 2);
  expect(await forget(true)).toMatchObject({ forgotten: [{ removed: 1 }], pending: 1, more: false });
  expect(await stored()).toEqual(['n1', 'n2']);
  // Other instances may not have read the mark yet, so the call must be repeated.
  expect(await forget()).toMatchObject({ forgotten: [{ removed: 1 }, {}], more: true });
  await world.newest.stop();
  await world.start();
  await world.publish(
    { notificationId: 'n3', applicationId: 'a-1' },
    { notificationId: 'n4', applicationId: 'a-2' },
  );
  await waitFor('the other application’s', async () => (await stored()).includes('n4'));
  expect(await stored()).toEqual(['n2', 'n4']);
});

test('marks are read every few seconds, again after a failure, and are known everywhere only later', async () => {
  let nowMs = 1_800_000_000_000;
  let reads = 0;
  let fails = false;
  const marked = new Map<string, number>();
  const forgotten = createForgottenApplications(
    {
      async applications() {
        reads += 1;
        if (fails) throw new Error('the database is unavailable');
        return new Map(marked);
      },
    },
    { now: () => nowMs },
  );
  for (let n = 0; n < 10; n += 1) expect((await forgotten.read()).has('app')).toBe(false);
  expect(reads).toBe(1);
  marked.set('app', nowMs);
  expect(await forgotten.isKnownEverywhere('app')).toBe(false);
  nowMs += 5000;
  expect((await forgotten.read()).has('app')).toBe(true);
  expect(await forgotten.isKnownEverywhere('app')).toBe(false);
  nowMs += 5000;
  expect(await forgotten.isKnownEverywhere('app')).toBe(true);
  nowMs += 5000;
  fails = true;
  await expect(forgotten.read()).rejects.toThrow('unavailable');
  fails = false;
  expect((await forgotten.read()).has('app')).toBe(true);
});
