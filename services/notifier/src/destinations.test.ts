import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { key, seen, status, useWorld } from './testing/fixture.ts';
import { createManualClocks } from './testing/manual-clocks.ts';

const use = useWorld();

test('Retry-After is honoured: nothing is sent to the destination before that time', async () => {
  const time = createManualClocks();
  const arrivedAtMs: number[] = [];
  const server = await use.integrator(() => {
    const isFirst = arrivedAtMs.push(time.monotonicNow()) === 1;
    return isFirst ? { status: 429, headers: { 'retry-after': '1' } } : { status: 204 };
  });
  use.pointTo('a-1', server);
  const notifier = await use.world.start({ NOTIFIER_BACKOFF_MAX_MS: '3600000' }, { time });
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it was rejected', async () => {
    const { delivery } = await notifier.admin
      .getDelivery({ notificationId: 'n-1' })
      .catch(() => ({}) as never);
    return delivery?.attempts === 1;
  });
  await use.world.publish({ notificationId: 'n-2', applicationId: 'a-1' });
  await waitFor('both have arrived', () => {
    time.pass(10);
    return server.received.length === 2;
  });
  const [first, second] = arrivedAtMs;
  expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(1000);
});

test('a longer Retry-After than NOTIFIER_BACKOFF_MAX_MS counts as that maximum, and is not shortened', async () => {
  const time = createManualClocks();
  const maxMs = 7000;
  const arrivedAtMs: number[] = [];
  const server = await use.integrator(() => {
    const isFirst = arrivedAtMs.push(time.monotonicNow()) === 1;
    return isFirst ? { status: 503, headers: { 'retry-after': '3600' } } : { status: 204 };
  });
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_BACKOFF_MAX_MS: String(maxMs) }, { time });
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it has arrived', () => {
    time.pass(100);
    return server.received.length === 1;
  });
  const [first, second] = arrivedAtMs;
  expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(maxMs);
  expect(Number(second) - Number(first)).toBeLessThan(3_600_000);
});

test('hanging and dead endpoints do not delay the callbacks of another application', async () => {
  const hanging = await use.integrator(() => 'hang');
  const dead = await use.integrator();
  const good = await use.integrator();
  use.pointTo('hanging', hanging);
  use.pointTo('dead', dead);
  use.pointTo('good', good);
  await dead.close();
  const notifier = await use.world.start({
    NOTIFIER_ENDPOINT_WINDOW: '20',
    NOTIFIER_ENDPOINT_CONCURRENCY: '4',
    NOTIFIER_TOTAL_TIMEOUT_MS: '60000',
  });
  const count = 100;
  await use.world.publish(
    ...Array.from({ length: count }, (_, i) => [
      { notificationId: `h-${i}`, applicationId: 'hanging' },
      { notificationId: `d-${i}`, applicationId: 'dead' },
      { notificationId: `g-${i}`, applicationId: 'good' },
    ]).flat(),
  );
  // While the test waits, the hanging destination frees no slot.
  await waitFor('all callbacks of the good destination have arrived', () => good.received.length === count);
  await waitFor('the limit of the hanging destination is reached', () => hanging.arrivals.length === 4);
  await waitFor('only callbacks of the two others are pending', async () => {
    return (await notifier.metrics.metrics()).includes('headset_callbacks_due 200\n');
  });
  expect(hanging.arrivals).toHaveLength(4);
});

test('an application whose endpoint hangs takes no connection from another application at the same origin', async () => {
  const server = await use.integrator(({ webhookId }) =>
    webhookId.startsWith('h-') ? 'hang' : { status: 204 },
  );
  use.pointTo('hanging', server);
  use.pointTo('good', server);
  await use.world.start({
    NOTIFIER_ENDPOINT_CONCURRENCY: '4',
    NOTIFIER_TOTAL_TIMEOUT_MS: '60000',
  });
  const count = 20;
  const of = (applicationId: string) =>
    Array.from({ length: count }, (_, i) => ({
      notificationId: `${applicationId[0]}-${i}`,
      applicationId,
    }));
  await use.world.publish(...of('hanging'));
  await waitFor('the limit of the hanging application is reached', () => server.arrivals.length === 4);
  await use.world.publish(...of('good'));
  await waitFor('all callbacks of the good application have arrived', () => server.received.length === count);
  expect(seen(server).filter((id) => id.startsWith('h-'))).toHaveLength(4);
});

test('a failing destination is probed one at a time, and everything arrives when it accepts callbacks again', async () => {
  let open = false;
  let inFlight = 0;
  let most = 0;
  const server = await use.integrator(async () => {
    most = Math.max(most, ++inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight--;
    return { status: open ? 204 : 500 };
  });
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_ENDPOINT_WINDOW: '30', NOTIFIER_BACKOFF_MAX_MS: '3600000' });
  const count = 200;
  await use.world.publish(
    ...Array.from({ length: count }, (_, i) => ({ notificationId: `n-${i}`, applicationId: 'a-1' })),
  );
  await waitFor('it is failing', () => server.arrivals.length > 25);
  most = 0;
  const before = server.arrivals.length;
  await waitFor('it was probed', () => server.arrivals.length > before + 5);
  expect(most).toBe(1);
  open = true;
  await waitFor('all have arrived', () => server.received.length === count);
});

test('each attempt uses the current key and the current address', async () => {
  const old = await use.integrator(() => ({ status: 500 }), ['old key']);
  const next = await use.integrator(undefined, ['new key']);
  use.pointTo('a-1', old, 'old key');
  await use.world.start();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it was tried', () => old.arrivals.some((arrival) => arrival.verified));
  use.pointTo('a-1', next, 'new key');
  await waitFor('it has arrived', () => next.received.length === 1);
  expect(next.arrivals.every((arrival) => arrival.verified)).toBe(true);
});

test('without an address, and while devices is unavailable, callbacks wait without using attempts', async () => {
  const server = await use.integrator();
  const notifier = await use.world.start();
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('the address was asked for', () => use.world.reads.count >= 2);
  use.world.destinations.set('a-1', 'away');
  const asked = use.world.reads.count;
  await waitFor('the address was asked for', () => use.world.reads.count >= asked + 2);
  use.pointTo('a-1', server);
  await waitFor('it is delivered', async () => (await status(notifier, 'n-1')) === 'delivered');
  expect((await notifier.admin.getDelivery({ notificationId: 'n-1' })).delivery?.attempts).toBe(1);
});

// protects against callbacks/ssrf-addresses, callbacks/ssrf-spellings
test.each([
  ...['http://127.0.0.1', 'http://[::ffff:127.0.0.1]', 'http://0x7f.1', 'http://0', 'http://localhost'],
  ...['http://2130706433', 'http://0177.0.0.1', 'http://127.1', 'http://[::ffff:7f00:1]', 'http://[::]'],
  ...['http://１２７.0.0.1', 'http://8.8.8.8@127.0.0.1', 'http://127.0.0.1.'],
])('an address that is not public (%s) is never connected to', async (origin) => {
  const server = await use.integrator();
  use.world.destinations.set('a-1', { url: `${origin}:${server.port}/`, authenticationKey: key });
  const notifier = await use.world.start({ NOTIFIER_ALLOW_ADDRESSES: '192.0.2.0/24' });
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  const outcome = await waitFor('an attempt failed', async () => {
    const answer = await notifier.admin.getDelivery({ notificationId: 'n-1' }).catch(() => undefined);
    return answer?.delivery?.lastOutcome || undefined;
  });
  expect(outcome).toBe('ADDRESS_REFUSED: the address is not public');
  expect(server.arrivals).toHaveLength(0);
});

// protects against callbacks/ssrf-rebinding
test('a name that resolves to an internal address after a delivery (DNS rebinding) is rejected when connecting', async () => {
  const server = await use.integrator();
  let address = '127.0.0.1';
  use.world.destinations.set('a-1', {
    url: `http://rebinding.example:${server.port}/`,
    authenticationKey: key,
  });
  // 127.0.0.1 acts as the public address; 127.0.0.2, where the server does not listen, as the internal address.
  const notifier = await use.world.start(
    { NOTIFIER_ALLOW_ADDRESSES: '127.0.0.1/32' },
    { resolve: async () => [address] },
  );
  await use.world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('the first one has arrived', () => server.received.length === 1);
  address = '127.0.0.2';
  await server.close();
  await use.world.publish({ notificationId: 'n-2', applicationId: 'a-1' });
  await waitFor('the second one was rejected', async () => {
    const answer = await notifier.admin.getDelivery({ notificationId: 'n-2' }).catch(() => undefined);
    return answer?.recentAttempts.some((attempt) => attempt.error.startsWith('ADDRESS_REFUSED'));
  });
});
