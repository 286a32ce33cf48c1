import { deadLetterTopic, topics } from '@headset-cloud/kit/eventlog/types.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import {
  type Answer,
  type IntegratorServer,
  startIntegrator,
} from '@headset-cloud/tests/support/integrator/server.ts';
import { type Bench, createBench } from './testing/harness.ts';

const key = 'the authentication key';
let bench: Bench;
const servers: IntegratorServer[] = [];

beforeEach(async () => {
  bench = await createBench();
});
afterEach(async () => {
  await bench.close();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function integrator(
  answer?: (callback: { webhookId: string }) => Answer | Promise<Answer>,
  keys: readonly string[] = [key],
): Promise<IntegratorServer> {
  const server = await startIntegrator({ keys, ...(answer && { answer }) });
  servers.push(server);
  return server;
}

function pointTo(applicationId: string, server: IntegratorServer, authenticationKey = key): void {
  bench.destinations.set(applicationId, { url: `${server.origin}/callbacks?x=1`, authenticationKey });
}

const ids = (server: IntegratorServer) => server.received.map((arrival) => arrival.webhookId);
const seen = (server: IntegratorServer) => server.arrivals.map((arrival) => arrival.webhookId);

async function status(notifier: Awaited<ReturnType<Bench['start']>>, notificationId: string) {
  const { delivery } = await notifier.admin.getDelivery({ notificationId });
  return delivery?.status;
}

test('a callback is not sent before the disk has it, so that its receipt is never forgotten', async () => {
  const server = await integrator();
  pointTo('a-1', server);
  const notifier = await bench.start();
  bench.disk.hold();
  const published = bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  // The event is handed over before the disk has it; its delivery is the second to wait for the disk.
  const stored = () => bench.store.collection('deliveries', { settle: 'in-order' }).countDocuments();
  await waitFor('the delivery', async () => (await stored()) === 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(server.arrivals).toEqual([]);
  bench.disk.release();
  await published;
  await waitFor('the callback', () => ids(server).length === 1);
  await waitFor('its mark', async () => (await status(notifier, 'n-1')) === 'delivered');
});

test('a callback is sent once, with both signatures right over the bytes, to the path that is set', async () => {
  const server = await integrator();
  pointTo('a-1', server);
  const notifier = await bench.start();
  const body = Buffer.from('{"message":"起動しました", "n":12345678901234567890}');
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1', body, traceparent });
  await waitFor('the delivery is stored as delivered', async () => {
    return (await status(notifier, 'n-1').catch(() => '')) === 'delivered';
  });
  expect(server.arrivals).toEqual([
    expect.objectContaining({
      webhookId: 'n-1',
      verified: true,
      path: '/callbacks?x=1',
      applicationId: 'a-1',
      rawBody: body.toString(),
      traceparent,
    }),
  ]);
  const {
    delivery,
    recentAttempts,
    body: stored,
  } = await notifier.admin.getDelivery({ notificationId: 'n-1' });
  expect(delivery).toMatchObject({ attempts: 1, destination: 'deviceEvent', lastOutcome: '204' });
  expect(recentAttempts).toMatchObject([{ statusCode: 204, error: '' }]);
  expect(stored).toBe(body.toString());
});

test('an event that comes again, in its batch or later, causes no second callback', async () => {
  const server = await integrator();
  pointTo('a-1', server);
  await bench.start();
  const event = { notificationId: 'n-1', applicationId: 'a-1' };
  await bench.publish(event, event);
  await bench.publish(event);
  await bench.publish({ notificationId: 'n-2', applicationId: 'a-1' });
  await waitFor('the last one has arrived', () => ids(server).includes('n-2'));
  expect(seen(server)).toEqual(['n-1', 'n-2']);
});

test('callbacks of one order key first arrive in the order of their sequence, although some fail', async () => {
  let n = 0;
  const server = await integrator(() => ({ status: n++ % 3 === 0 ? 500 : 204 }));
  pointTo('a-1', server);
  await bench.start({ NOTIFIER_FAILING_AFTER: '1000' });
  const order = [1, 2, 3, 4, 5, 6];
  const keys = Array.from({ length: 20 }, (_, i) => `t-${i}`);
  await bench.publish(
    ...order.flatMap((sequence) =>
      keys.map((orderKey) => {
        return { notificationId: `${orderKey}.${sequence}`, applicationId: 'a-1', orderKey, sequence };
      }),
    ),
  );
  await waitFor('all have arrived', () => server.received.length === keys.length * order.length);
  for (const orderKey of keys) {
    const first = [...new Set(seen(server))].filter((id) => id.startsWith(`${orderKey}.`));
    expect(first).toEqual(order.map((sequence) => `${orderKey}.${sequence}`));
  }
});

test('an undelivered progress is replaced by a later event, whose order key then goes on', async () => {
  let open = false;
  const server = await integrator(() => ({ status: open ? 204 : 503 }));
  pointTo('a-1', server);
  const notifier = await bench.start({ NOTIFIER_FAILING_AFTER: '1000' });
  const event = { applicationId: 'a-1', orderKey: 't-1' };
  await bench.publish({ ...event, notificationId: 'p-1', sequence: 1, replaceable: true });
  await waitFor('the first one was tried', () => seen(server).includes('p-1'));
  await bench.publish(
    { ...event, notificationId: 'p-2', sequence: 2, replaceable: true },
    { ...event, notificationId: 'end', sequence: 3 },
  );
  await waitFor('the end was tried', () => seen(server).includes('end'));
  open = true;
  await waitFor('the end has arrived', () => ids(server).length > 0);
  expect(ids(server)).toEqual(['end']);
  expect(seen(server)).not.toContain('p-2');
  await waitFor('both are stored as replaced', async () => {
    return (await status(notifier, 'p-1')) === 'replaced' && (await status(notifier, 'p-2')) === 'replaced';
  });
});

test('that a progress was replaced is stored before what replaces it goes out, so that no crash brings it back', async () => {
  const statuses: (string | undefined)[] = [];
  const server = await integrator(async ({ webhookId }) => {
    if (webhookId === 'p-2') statuses.push(await status(notifier, 'p-1'));
    return { status: 204 };
  });
  pointTo('a-1', server);
  const notifier = await bench.start();
  // Then a connection is open, and the next ones go out faster than outcomes are stored.
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('the connection is open', () => ids(server).length > 0);
  const event = { applicationId: 'a-1', orderKey: 't-1' };
  await bench.publish(
    { ...event, notificationId: 'p-1', sequence: 1, replaceable: true },
    { ...event, notificationId: 'p-2', sequence: 2, replaceable: true },
  );
  await waitFor('the later one has arrived', () => ids(server).includes('p-2'));
  expect(seen(server)).toEqual(['n-1', 'p-2']);
  expect(statuses).toEqual(['replaced']);
});

test.each([302, 400, 500])('an answer %d is a failure, and the callback is tried again', async (code) => {
  let n = 0;
  const server = await integrator(() => {
    return n++ === 0 ? { status: code, headers: { location: '/elsewhere' } } : { status: 200 };
  });
  pointTo('a-1', server);
  await bench.start();
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it has arrived', () => server.received.length === 1);
  expect(server.arrivals.map(({ path, answered }) => [path, answered])).toEqual([
    ['/callbacks?x=1', code],
    ['/callbacks?x=1', 200],
  ]);
});

test('410 ends a callback at once; an operator can have it sent again under the same id', async () => {
  let code = 410;
  const server = await integrator(() => ({ status: code }));
  pointTo('a-1', server);
  const notifier = await bench.start();
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it is dead', async () => (await status(notifier, 'n-1').catch(() => '')) === 'dead');
  expect(server.arrivals).toHaveLength(1);
  const { deliveries } = await notifier.admin.listDeliveries({ applicationId: 'a-1', status: 'dead' });
  expect(deliveries).toMatchObject([
    { notificationId: 'n-1', lastOutcome: 'answered 410', nextAttemptAtMs: 0n },
  ]);

  code = 204;
  await notifier.admin.redeliverDelivery({ notificationId: 'n-1' });
  await waitFor('it is delivered', async () => (await status(notifier, 'n-1')) === 'delivered');
  expect(ids(server)).toEqual(['n-1']);
  // A delivered one can be sent again, too.
  await notifier.admin.redeliverDelivery({ notificationId: 'n-1' });
  await waitFor('it came again', () => server.arrivals.length === 3);
});

test('unknown deliveries are not found; a pending one cannot be sent again', async () => {
  bench.destinations.set('a-1', 'away');
  const notifier = await bench.start();
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it is stored', () => status(notifier, 'n-1').catch(() => undefined));
  await expect(notifier.admin.getDelivery({ notificationId: 'no' })).rejects.toMatchObject({
    code: 'not_found',
  });
  const redeliver = notifier.admin.redeliverDelivery;
  await expect(redeliver({ notificationId: 'no' })).rejects.toMatchObject({ code: 'not_found' });
  await expect(redeliver({ notificationId: 'n-1' })).rejects.toMatchObject({ code: 'conflict' });
});

test('Retry-After is honoured: nothing is sent to the destination before', async () => {
  let n = 0;
  const server = await integrator(() => {
    return n++ === 0 ? { status: 429, headers: { 'retry-after': '1' } } : { status: 204 };
  });
  pointTo('a-1', server);
  await bench.start();
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it was refused', () => server.arrivals.length === 1);
  await bench.publish({ notificationId: 'n-2', applicationId: 'a-1' });
  await waitFor('both have arrived', () => server.received.length === 2);
  const [first, second] = server.arrivals.map((arrival) => Date.parse(arrival.receivedAt));
  expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(990);
});

test('hanging and dead endpoints do not delay the callbacks of another application', async () => {
  const hanging = await integrator(() => 'hang');
  const dead = await integrator();
  const good = await integrator();
  pointTo('hanging', hanging);
  pointTo('dead', dead);
  pointTo('good', good);
  await dead.close();
  const notifier = await bench.start({
    NOTIFIER_WINDOW_PER_DESTINATION: '20',
    NOTIFIER_PER_DESTINATION_IN_FLIGHT: '4',
    NOTIFIER_TOTAL_TIMEOUT_MS: '60000',
  });
  const count = 100;
  await bench.publish(
    ...Array.from({ length: count }, (_, i) => [
      { notificationId: `h-${i}`, applicationId: 'hanging' },
      { notificationId: `d-${i}`, applicationId: 'dead' },
      { notificationId: `g-${i}`, applicationId: 'good' },
    ]).flat(),
  );
  // For as long as this is waited for, the hanging one gives no place free.
  await waitFor('all of the good one have arrived', () => good.received.length === count);
  await waitFor('the cap of the hanging one is reached', () => hanging.arrivals.length === 4);
  await waitFor('what is left is that of the two others', async () => {
    return (await notifier.metrics.metrics()).includes('headset_callbacks_due 200\n');
  });
  expect(hanging.arrivals).toHaveLength(4);
});

test('a failing destination is probed one at a time, and everything arrives when it takes callbacks again', async () => {
  let open = false;
  let inFlight = 0;
  let most = 0;
  const server = await integrator(async () => {
    most = Math.max(most, ++inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight--;
    return { status: open ? 204 : 500 };
  });
  pointTo('a-1', server);
  await bench.start({ NOTIFIER_WINDOW_PER_DESTINATION: '30', NOTIFIER_BACKOFF_MAX_MS: '3600000' });
  const count = 200;
  await bench.publish(
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

test('each attempt is signed with the key that is current then, and goes to the address that is set then', async () => {
  const old = await integrator(() => ({ status: 500 }), ['old key']);
  const next = await integrator(undefined, ['new key']);
  pointTo('a-1', old, 'old key');
  await bench.start();
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it was tried', () => old.arrivals.some((arrival) => arrival.verified));
  pointTo('a-1', next, 'new key');
  await waitFor('it has arrived', () => next.received.length === 1);
  expect(next.arrivals.every((arrival) => arrival.verified)).toBe(true);
});

test('without an address, and while devices is away, callbacks wait without using up attempts', async () => {
  const server = await integrator();
  const notifier = await bench.start();
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('the address was asked for', () => bench.reads.count >= 2);
  bench.destinations.set('a-1', 'away');
  const asked = bench.reads.count;
  await waitFor('the address was asked for', () => bench.reads.count >= asked + 2);
  pointTo('a-1', server);
  await waitFor('it is delivered', async () => (await status(notifier, 'n-1')) === 'delivered');
  expect((await notifier.admin.getDelivery({ notificationId: 'n-1' })).delivery?.attempts).toBe(1);
});

test('a callback is kept as dead when its time is over: after a last attempt, or when it had nowhere to go', async () => {
  const server = await integrator(() => ({ status: 500 }));
  pointTo('a-1', server);
  const notifier = await bench.start();
  const createdAtMs = BigInt(Date.now() - 73 * 3_600_000);
  await bench.publish(
    { notificationId: 'n-1', applicationId: 'a-1', createdAtMs },
    { notificationId: 'n-2', applicationId: 'unset', createdAtMs },
  );
  for (const id of ['n-1', 'n-2']) {
    await waitFor(`${id} is dead`, async () => (await status(notifier, id).catch(() => '')) === 'dead');
  }
  expect(seen(server)).toEqual(['n-1']);
  expect((await notifier.admin.getDelivery({ notificationId: 'n-2' })).delivery).toMatchObject({
    attempts: 0,
    lastOutcome: 'destination not set',
  });
});

test.each(['http://127.0.0.1', 'http://[::ffff:127.0.0.1]', 'http://0x7f.1', 'http://0', 'http://localhost'])(
  'an address that is not public (%s) is never connected to',
  async (origin) => {
    const server = await integrator();
    bench.destinations.set('a-1', { url: `${origin}:${server.port}/`, authenticationKey: key });
    const notifier = await bench.start({ NOTIFIER_ALLOW_ADDRESSES: '192.0.2.0/24' });
    await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
    const outcome = await waitFor('an attempt failed', async () => {
      const answer = await notifier.admin.getDelivery({ notificationId: 'n-1' }).catch(() => undefined);
      return answer?.delivery?.lastOutcome || undefined;
    });
    expect(outcome).toBe('ADDRESS_REFUSED: the address is not public');
    expect(server.arrivals).toHaveLength(0);
  },
);

test('a name that turns to an internal address after a delivery (DNS rebinding) is refused at connect', async () => {
  const server = await integrator();
  let address = '127.0.0.1';
  bench.destinations.set('a-1', { url: `http://rebinding.example:${server.port}/`, authenticationKey: key });
  // 127.0.0.1 plays the public address; 127.0.0.2, where the server does not listen, the internal one.
  const notifier = await bench.start(
    { NOTIFIER_ALLOW_ADDRESSES: '127.0.0.1/32' },
    { resolve: async () => [address] },
  );
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('the first one has arrived', () => server.received.length === 1);
  address = '127.0.0.2';
  await server.close();
  await bench.publish({ notificationId: 'n-2', applicationId: 'a-1' });
  await waitFor('the second one was refused', async () => {
    const answer = await notifier.admin.getDelivery({ notificationId: 'n-2' }).catch(() => undefined);
    return answer?.recentAttempts.some((attempt) => attempt.error.startsWith('ADDRESS_REFUSED'));
  });
});

test('a new process delivers what an older one left, in order, and gave-back ones at once', async () => {
  let open = false;
  const server = await integrator(() => ({ status: open ? 204 : 500 }));
  pointTo('a-1', server);
  const first = await bench.start();
  const event = { applicationId: 'a-1', orderKey: 't-1' };
  await bench.publish(
    ...[1, 2, 3].map((sequence) => ({ ...event, notificationId: `n-${sequence}`, sequence })),
  );
  await waitFor('it was tried', () => server.arrivals.length > 1);
  await first.stop();
  open = true;
  await bench.start({ NOTIFIER_LEASE_MS: '60000' });
  await waitFor('all have arrived', () => server.received.length === 3);
  expect(ids(server)).toEqual(['n-1', 'n-2', 'n-3']);
});

test('what a dead process owned is taken over when its lease has run out', async () => {
  const server = await integrator();
  pointTo('a-1', server);
  let died = false;
  // It dies after it stored the delivery, before it could send it.
  const failpoints = (name: string) => {
    if (name === 'notifier.stored') {
      died = true;
      throw new Error('died');
    }
  };
  const first = await bench.start({}, { failpoints });
  await bench.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('it died', () => died);
  await first.stop();
  await bench.start();
  await waitFor('it has arrived', () => server.received.length === 1);
  expect(seen(server)).toEqual(['n-1']);
});

test('what a dead process owned goes first, although what waits for it fills the memory of the next', async () => {
  const server = await integrator();
  pointTo('a-1', server);
  let died = false;
  const failpoints = (name: string) => {
    if (name === 'notifier.stored') {
      died = true;
      throw new Error('died');
    }
  };
  const window = { NOTIFIER_WINDOW_PER_DESTINATION: '1000' };
  const first = await bench.start(window, { failpoints });
  const keys = Array.from({ length: 40 }, (_, i) => `t-${i}`);
  const events = (sequence: number) =>
    keys.map((orderKey) => {
      return { notificationId: `${orderKey}.${sequence}`, applicationId: 'a-1', orderKey, sequence };
    });
  await bench.publish(...events(1));
  await waitFor('it died', () => died);
  await first.stop();
  await bench.start({ NOTIFIER_WINDOW_PER_DESTINATION: '8', NOTIFIER_MAX_IN_MEMORY: '20' });
  await bench.publish(...events(2));
  await waitFor('all have arrived', () => server.received.length === 2 * keys.length);
  for (const orderKey of keys) {
    const arrived = ids(server).filter((id) => id.startsWith(`${orderKey}.`));
    expect(arrived).toEqual([`${orderKey}.1`, `${orderKey}.2`]);
  }
});

test('several instances on one database send each callback once and keep the order of an order key', async () => {
  const server = await integrator();
  pointTo('a-1', server);
  // Only one of them consumes; the others get their work by claiming what does not fit its window.
  for (let i = 0; i < 3; i++) await bench.start({ NOTIFIER_WINDOW_PER_DESTINATION: '7' });
  const keys = Array.from({ length: 40 }, (_, i) => `t-${i}`);
  const order = [1, 2, 3, 4];
  await bench.publish(
    ...order.flatMap((sequence) =>
      keys.map((orderKey) => {
        return { notificationId: `${orderKey}.${sequence}`, applicationId: 'a-1', orderKey, sequence };
      }),
    ),
  );
  await waitFor('all have arrived', () => server.received.length === keys.length * order.length);
  expect(server.arrivals).toHaveLength(keys.length * order.length);
  for (const orderKey of keys) {
    expect(ids(server).filter((id) => id.startsWith(`${orderKey}.`))).toEqual(
      order.map((sequence) => `${orderKey}.${sequence}`),
    );
  }
});

test('an event that cannot be read goes to the dead letters and holds up nothing', async () => {
  const server = await integrator();
  pointTo('a-1', server);
  await bench.start();
  await bench.log.publish(topics.notifications, [{ key: 'a-1', value: Buffer.from('no message') }]);
  await bench.publish(
    { notificationId: 'n-1', applicationId: 'a-1' },
    { notificationId: '', applicationId: 'a-1' },
  );
  await waitFor('the good one has arrived', () => server.received.length === 1);
  await waitFor('both bad ones are dead letters', async () => {
    return (await bench.log.readNewest(deadLetterTopic(topics.notifications), 10)).length === 2;
  });
});
