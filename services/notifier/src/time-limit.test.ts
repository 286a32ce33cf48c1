import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ago, ids, seen, status, useWorld } from './testing/fixture.ts';
import type { TestNotifier } from './testing/world.ts';

const use = useWorld();
const takenInHoursAgo = (hours: number) => BigInt(ago(hours * 3_600_000));
const dead = (notifier: TestNotifier, id: string) =>
  waitFor(`${id} is dead`, async () => (await status(notifier, id).catch(() => '')) === 'dead');
/** One failure makes the destination failing. After that each request is a probe. */
const probing = { NOTIFIER_FAILING_AFTER: '1', NOTIFIER_ENDPOINT_CONCURRENCY: '1' };

test('a callback whose time limit passed before it could be sent still has ten attempts', async () => {
  const server = await use.integrator(() => ({ status: 500 }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start({ NOTIFIER_FAILING_AFTER: '1000' });
  await use.world.publish({
    ...{ notificationId: 'n-1', applicationId: 'a-1', createdAtMs: takenInHoursAgo(73) },
  });
  await dead(notifier, 'n-1');
  expect(seen(server)).toEqual(Array.from({ length: 10 }, () => 'n-1'));
});

test('a probe of a destination counts as an attempt of each callback that waits for it', async () => {
  const server = await use.integrator(() => ({ status: 500 }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start(probing);
  const createdAtMs = takenInHoursAgo(73);
  const all = Array.from({ length: 20 }, (_, i) => `n-${i}`);
  await use.world.publish(
    ...all.map((notificationId) => ({ notificationId, applicationId: 'a-1', createdAtMs })),
  );
  for (const id of all) await dead(notifier, id);
  expect(server.arrivals.length).toBeGreaterThanOrEqual(10);
  // Ten attempts each would be 200.
  expect(server.arrivals.length).toBeLessThan(100);
});

test('probes before a restart, and those of other instances, count', async () => {
  let restarted = false;
  const server = await use.integrator(() => {
    if (restarted && server.arrivals.length > before) return 'hang';
    return { status: 500 };
  });
  use.pointTo('a-1', server);
  const createdAtMs = takenInHoursAgo(73);
  const all = Array.from({ length: 20 }, (_, i) => `n-${i}`);
  const first = await use.world.start({ ...probing, NOTIFIER_MAX_AGE_HOURS: '100' });
  await use.world.publish(
    ...all.map((notificationId) => ({ notificationId, applicationId: 'a-1', createdAtMs })),
  );
  await waitFor('enough probes', () => server.arrivals.length >= 15);
  // Enough time to store given-back deliveries, even on a busy disk.
  await first.stop(30_000);
  const before = server.arrivals.length;
  restarted = true;
  // One request finds that the destination is failing, and the next probe never ends, so no other probe is made.
  const second = await use.world.start({ ...probing, NOTIFIER_TOTAL_TIMEOUT_MS: '60000' });
  await waitFor('all but the probe are dead', async () => {
    const { deliveries } = await second.admin.listDeliveries({ applicationId: 'a-1', status: 'dead' });
    return deliveries.length === all.length - 1;
  });
  expect(server.arrivals.length).toBe(before + 2);
});

test('a probe does not count for a callback that was received after it', async () => {
  // The server accepts the second attempt of 'new' and nothing else.
  let tries = 0;
  const server = await use.integrator(({ webhookId }) => ({
    status: webhookId === 'new' && ++tries > 1 ? 204 : 500,
  }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start({ ...probing, NOTIFIER_MAX_AGE_HOURS: '0.001' });
  const event = { applicationId: 'a-1', createdAtMs: takenInHoursAgo(1) };
  await use.world.publish({ ...event, notificationId: 'old' });
  await dead(notifier, 'old');
  await use.world.publish({ notificationId: 'new', applicationId: 'a-1' });
  await waitFor('the new one has arrived', () => ids(server).includes('new'));
});

test('at the end of the grace period a callback is dead, whatever its attempts, and nothing is sent any more', async () => {
  const server = await use.integrator();
  use.pointTo('a-1', server);
  const notifier = await use.world.start();
  await use.world.publish(
    { notificationId: 'n-1', applicationId: 'a-1', createdAtMs: takenInHoursAgo(96.1) },
    { notificationId: 'n-2', applicationId: 'a-1', createdAtMs: takenInHoursAgo(95.9) },
  );
  await dead(notifier, 'n-1');
  await waitFor('the other has arrived', () => ids(server).length > 0);
  expect(seen(server)).toEqual(['n-2']);
  const { delivery } = await notifier.admin.getDelivery({ notificationId: 'n-1' });
  expect(delivery).toMatchObject({ attempts: 0, lastOutcome: 'time limit reached' });
});

test('without a URL a callback needs no attempts: it is dead at the time limit', async () => {
  const notifier = await use.world.start();
  await use.world.publish({
    ...{ notificationId: 'n-1', applicationId: 'unset', createdAtMs: takenInHoursAgo(73) },
  });
  await dead(notifier, 'n-1');
  const { delivery } = await notifier.admin.getDelivery({ notificationId: 'n-1' });
  expect(delivery).toMatchObject({ attempts: 0, lastOutcome: 'destination not set' });
});

test('a callback that an operator has sent again gets a full new time limit', async () => {
  let code = 410;
  const server = await use.integrator(() => ({ status: code }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start({ NOTIFIER_FAILING_AFTER: '1000' });
  const createdAtMs = takenInHoursAgo(95.9);
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1', createdAtMs });
  await dead(notifier, 'n-1');
  code = 500;
  await notifier.admin.redeliverDelivery({ notificationId: 'n-1' });
  await waitFor('more attempts than an old one gets', () => server.arrivals.length > 12);
  expect(await status(notifier, 'n-1')).toBe('pending');
});
