import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { key, status, useWorld } from './testing/fixture.ts';

/** Operators see the host of a delivery, and nothing of a URL that may be secret. */

const use = useWorld();
const hostOf = ({ origin }: { origin: string }) => new URL(origin).host;

test('a delivery has the host of its last attempt, and each attempt has its own host', async () => {
  const first = await use.integrator(() => ({ status: 500 }));
  const second = await use.integrator();
  const secret = 'user:hush@';
  const urlOf = (origin: string) => `${origin.replace('//', `//${secret}`)}/hush/hooks?token=hush`;
  use.world.destinations.set('a-1', { url: urlOf(first.origin), authenticationKey: key });
  const notifier = await use.world.start();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('an attempt', () => first.arrivals.length > 0);
  use.world.destinations.set('a-1', { url: urlOf(second.origin), authenticationKey: key });
  await waitFor('its end', async () => (await status(notifier, 'n-1')) === 'delivered');
  // The current URL says nothing about a finished callback.
  use.world.destinations.set('a-1', { url: 'https://later.example.com/', authenticationKey: key });
  const { deliveries } = await notifier.admin.listDeliveries({});
  expect(deliveries.map(({ host }) => host)).toEqual([hostOf(second)]);
  const shown = await notifier.admin.getDelivery({ notificationId: 'n-1' });
  expect(shown.delivery?.host).toBe(hostOf(second));
  expect(shown.recentAttempts.map(({ host }) => host)).toEqual([
    ...shown.recentAttempts.slice(1).map(() => hostOf(first)),
    hostOf(second),
  ]);
  expect(JSON.stringify([deliveries, shown], (_, v) => (typeof v === 'bigint' ? `${v}` : v))).not.toContain(
    'hush',
  );
});

test('a delivery that waits for a failing destination has the host of its next attempt', async () => {
  const server = await use.integrator(() => ({ status: 500 }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start({ NOTIFIER_FAILING_AFTER: '1' });
  const names = Array.from({ length: 20 }, (_, n) => `n-${n}`);
  const event = { applicationId: 'a-1', orderKey: 't-1' };
  await use.world.publish(
    ...names.map((notificationId, sequence) => ({ ...event, notificationId, sequence })),
  );
  await waitFor('all', async () => (await notifier.admin.listDeliveries({})).deliveries.length === 20);
  const { deliveries } = await notifier.admin.listDeliveries({ status: 'pending' });
  expect(deliveries.filter(({ attempts }) => attempts === 0).length).toBeGreaterThan(0);
  expect(new Set(deliveries.map(({ host }) => host))).toEqual(new Set([hostOf(server)]));
});

test('a list does not wait for devices, and has no host if devices does not answer', async () => {
  use.world.destinations.set('a-1', 'away');
  const notifier = await use.world.start();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('the delivery', async () => {
    const { deliveries } = await notifier.admin.listDeliveries({});
    return deliveries.length === 1 && deliveries[0]?.host === '';
  });
});
