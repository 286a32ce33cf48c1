import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ids, seen, useWorld } from './testing/fixture.ts';
import { onceStored } from './testing/world.ts';

// Reports of headsets are sent in the order of their ids (rule A20).
const use = useWorld();
const count = 30;
const numbers = Array.from({ length: count }, (_, i) => i + 1);

/** A device's reports. Ids have gaps, because not every report causes a callback. */
const reports = (device: string, from = 1, to = count) =>
  numbers.slice(from - 1, to).map((n) => ({
    notificationId: `${device}.${n}`,
    applicationId: 'a-1',
    orderKey: `device-${device}`,
    reportId: BigInt(n * 3),
  }));
const expected = (device: string) => numbers.map((n) => `${device}.${n}`);
const firsts = (arrived: readonly string[], device: string) =>
  [...new Set(arrived)].filter((id) => id.startsWith(`${device}.`));
/** Answers earlier requests later, so that requests in flight together are answered in reverse order. */
const laterFirst = () => {
  let turns = 40;
  return async () => {
    for (let i = turns--; i > 0; i--) await new Promise((resolve) => setImmediate(resolve));
    return { status: 204 };
  };
};

test('a burst of reports arrives in the order of their ids, each after the previous one was answered', async () => {
  let inFlight = 0;
  let most = 0;
  const slow = laterFirst();
  const server = await use.integrator(async () => {
    most = Math.max(most, ++inFlight);
    const answer = await slow();
    inFlight--;
    return answer;
  });
  use.pointTo('a-1', server);
  await use.world.start();
  await use.world.publish(...reports('d'));
  await waitFor('all have arrived', () => server.received.length === count);
  expect(seen(server)).toEqual(expected('d'));
  expect(most).toBe(1);
});

test('several callbacks of one report keep their order, and arrive before those of the next report', async () => {
  const server = await use.integrator(laterFirst());
  use.pointTo('a-1', server);
  await use.world.start();
  await use.world.publish(
    ...reports('d', 1, 10).flatMap((event) =>
      [0, 1, 2].map((sequence) => {
        return { ...event, notificationId: `${event.notificationId}.${sequence}`, sequence };
      }),
    ),
  );
  await waitFor('all have arrived', () => server.received.length === 30);
  expect(seen(server)).toEqual(
    numbers.slice(0, 10).flatMap((n) => [0, 1, 2].map((part) => `d.${n}.${part}`)),
  );
});

test('a failed report is retried on its own: the next is sent after the first attempt', async () => {
  let open = false;
  const server = await use.integrator(({ webhookId }) => {
    return { status: !open && ['d.1', 'd.3'].includes(webhookId) ? 500 : 204 };
  });
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_FAILING_AFTER: '1000' });
  await use.world.publish(...reports('d'));
  await waitFor('the others have arrived', () => server.received.length === count - 2);
  expect(firsts(seen(server), 'd')).toEqual(expected('d'));
  open = true;
  await waitFor('all have arrived', () => server.received.length === count);
});

test('a missing answer delays only its own device', async () => {
  const server = await use.integrator(({ webhookId }) => (webhookId === 'slow.1' ? 'hang' : { status: 204 }));
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_TOTAL_TIMEOUT_MS: '60000' });
  await use.world.publish(...reports('slow'), ...reports('other'));
  await waitFor('all reports of the other device', () => firsts(ids(server), 'other').length === count);
  await waitFor('the slow device’s first request', () => firsts(seen(server), 'slow').length > 0);
  expect(firsts(seen(server), 'slow')).toEqual(['slow.1']);
});

test('no callback waits longer than the limit for the first attempt of another', async () => {
  const server = await use.integrator(({ webhookId }) => (webhookId === 'd.1' ? 'hang' : { status: 204 }));
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_TOTAL_TIMEOUT_MS: '60000', NOTIFIER_ORDER_WAIT_MS: '100' });
  await use.world.publish(...reports('d'));
  await waitFor('the others have arrived', () => server.received.length === count - 1);
  expect(ids(server)).not.toContain('d.1');
});

test('a failing destination gets them in order when it accepts callbacks again', async () => {
  let open = false;
  const server = await use.integrator(() => ({ status: open ? 204 : 500 }));
  use.pointTo('a-1', server);
  await use.world.start({ NOTIFIER_ENDPOINT_WINDOW: '40' });
  const devices = ['a', 'b', 'c', 'd', 'e'];
  await use.world.publish(...devices.flatMap((device) => reports(device)));
  await waitFor('it was probed', () => server.arrivals.length > 20);
  open = true;
  await waitFor('all have arrived', () => server.received.length === devices.length * count);
  for (const device of devices) expect(firsts(seen(server), device)).toEqual(expected(device));
});

test('the destinations of a device do not wait for each other', async () => {
  const hanging = await use.integrator(() => 'hang');
  const good = await use.integrator();
  use.pointTo('a-1', hanging);
  use.pointTo('a-2', good);
  await use.world.start({ NOTIFIER_TOTAL_TIMEOUT_MS: '60000' });
  const both = reports('d').map((event, i) => ({ ...event, applicationId: i % 2 === 0 ? 'a-1' : 'a-2' }));
  await use.world.publish(...both);
  await waitFor('the callbacks of the good destination', () => good.received.length === count / 2);
  await waitFor('the hanging destination got a request', () => hanging.arrivals.length > 0);
  expect(hanging.arrivals).toHaveLength(1);
});

test('repeated and late events change nothing', async () => {
  const server = await use.integrator(laterFirst());
  use.pointTo('a-1', server);
  await use.world.start();
  await use.world.publish(...reports('d', 1, 10));
  await use.world.publish(...reports('d', 5, 20));
  await use.world.publish(...reports('d', 1, count));
  await waitFor('all have arrived', () => server.received.length === count);
  expect(seen(server)).toEqual(expected('d'));
});

test('the order holds when an instance is killed and another takes over its deliveries', async () => {
  const server = await use.integrator(laterFirst());
  use.pointTo('a-1', server);
  const crash = onceStored();
  const first = await use.world.start({}, { crash });
  const devices = ['a', 'b', 'c'];
  await use.world.publish(...devices.flatMap((device) => reports(device, 1, 15)));
  await waitFor('it died', () => crash.cutAt === undefined);
  await first.stop();
  await use.world.start({ NOTIFIER_ENDPOINT_WINDOW: '8', NOTIFIER_MAX_IN_MEMORY: '20' });
  await use.world.publish(...devices.flatMap((device) => reports(device, 16, count)));
  await waitFor('all have arrived', () => server.received.length === devices.length * count);
  for (const device of devices) expect(firsts(seen(server), device)).toEqual(expected(device));
});

test('the order holds among several instances that share the work', async () => {
  const server = await use.integrator(laterFirst());
  use.pointTo('a-1', server);
  // No lease may expire while all instances are stopped, because another instance would then send again, correctly.
  const env = { NOTIFIER_ENDPOINT_WINDOW: '7', NOTIFIER_LEASE_MS: '60000' };
  for (let i = 0; i < 3; i++) await use.world.start(env);
  const devices = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  await use.world.publish(...devices.flatMap((device) => reports(device)));
  await waitFor('all have arrived', () => server.received.length === devices.length * count);
  for (const device of devices) expect(firsts(seen(server), device)).toEqual(expected(device));
});
