import { systemTime } from '@headset-cloud/runtime/clock.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type Receiver, type Reply, startReceiver } from '@headset-cloud/tests/e2e/receiver.ts';
import { afterEach } from '@jest/globals';
import { key, status, useWorld } from './testing/fixture.ts';
import { onceStored } from './testing/world.ts';

// The wall clock of one process jumps by an hour. Other clocks, and its monotonic clock, continue normally.
const use = useWorld();
const hourMs = 3_600_000;

/** A wall clock that a test can set forward or back. */
const wallClock = (offsetMs = 0) => {
  const time = { ...systemTime, offsetMs, now: () => Date.now() + time.offsetMs };
  return time;
};
const receivers: Receiver[] = [];
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
});
/** A receiver that accepts any timestamp in the signature. Other tests check that a wrong clock is rejected. */
async function receiver(reply: () => Reply | Promise<Reply> = () => 204): Promise<Receiver> {
  const made = await startReceiver(reply);
  receivers.push(made);
  return made;
}
const pointTo = ({ url }: Receiver) => use.world.destinations.set('a-1', { url, authenticationKey: key });
const seen = ({ arrivals }: Receiver) => arrivals.map(({ headers }) => String(headers['webhook-id']));
const event = (notificationId: string) => ({ notificationId, applicationId: 'a-1' });

test('a failing destination is still probed after the clock is set back', async () => {
  let open = false;
  const server = await receiver(() => (open ? 204 : 500));
  pointTo(server);
  const time = wallClock();
  const notifier = await use.world.start({ NOTIFIER_FAILING_AFTER: '1' }, { time });
  await use.world.publish(event('n-1'));
  await waitFor('it is failing', () => server.arrivals.length >= 3);
  time.offsetMs = -hourMs;
  const before = server.arrivals.length;
  await waitFor('it is probed again', () => server.arrivals.length > before + 2);
  open = true;
  await use.world.publish(event('n-2'));
  for (const id of ['n-1', 'n-2']) {
    await waitFor(
      `${id} is delivered`,
      async () => (await status(notifier, id).catch(() => '')) === 'delivered',
    );
  }
});

test('without an address the look-ups continue after the clock is set back', async () => {
  const server = await receiver();
  const time = wallClock();
  await use.world.start({}, { time });
  await use.world.publish(event('n-1'));
  await waitFor('the address was asked for', () => use.world.reads.count >= 2);
  time.offsetMs = -hourMs;
  pointTo(server);
  await waitFor('it has arrived', () => seen(server).length === 1);
});

test('a callback that waits in the database is retried in time after the clock is set back', async () => {
  let open = false;
  const server = await receiver(() => {
    return open ? 204 : (response) => response.writeHead(503, { 'retry-after': '7' }).end();
  });
  pointTo(server);
  const time = wallClock();
  const slow = { NOTIFIER_BACKOFF_MAX_MS: '7000', NOTIFIER_PROBE_MAX_MS: '20' };
  const notifier = await use.world.start(slow, { time });
  await use.world.publish(event('n-1'));
  const owner = async () =>
    (
      await use.world.store
        .collection<{ _id: string; owner: string | null }>('deliveries')
        .findOne({ _id: 'n-1' })
    )?.owner;
  // Longer than the longest wait in memory.
  await waitFor(
    'it waits in the database',
    async () => server.arrivals.length > 0 && (await owner()) === null,
  );
  time.offsetMs = -hourMs;
  open = true;
  await waitFor('it is delivered', async () => (await status(notifier, 'n-1')) === 'delivered');
});

test('callbacks of a dead instance with a fast clock are taken over', async () => {
  const server = await receiver();
  pointTo(server);
  const crash = onceStored();
  const first = await use.world.start({}, { time: wallClock(hourMs), crash });
  await use.world.publish(event('n-1'));
  await waitFor('it died', () => crash.cutAt === undefined);
  await first.stop();
  await use.world.start();
  await waitFor('it has arrived', () => seen(server).length === 1);
});

test('callbacks that an instance with a fast clock gave back untried are tried at once', async () => {
  const server = await receiver();
  const first = await use.world.start({}, { time: wallClock(hourMs) });
  await use.world.publish(event('n-1'));
  await waitFor('the address was asked for', () => use.world.reads.count > 0);
  await first.stop();
  pointTo(server);
  await use.world.start();
  await waitFor('it has arrived', () => seen(server).length === 1);
});

test('an instance whose clock is set forward does not claim its own callbacks twice', async () => {
  const answers: PromiseWithResolvers<Reply>[] = [];
  const server = await receiver(() => {
    const answer = Promise.withResolvers<Reply>();
    answers.push(answer);
    return answer.promise;
  });
  pointTo(server);
  const time = wallClock();
  const notifier = await use.world.start({ NOTIFIER_TOTAL_TIMEOUT_MS: '60000' }, { time });
  const all = ['n-1', 'n-2', 'n-3'];
  await use.world.publish(...all.map(event));
  await waitFor('all are in flight', () => answers.length === 3);
  time.offsetMs = hourMs;
  const due = async () => {
    const [one] = await use.world.store
      .collection<{ _id: string; dueAtMs: number }>('deliveries')
      .find({}, { sort: { dueAtMs: 1 } })
      .toArray();
    return (one?.dueAtMs ?? 0) > Date.now() + hourMs / 2;
  };
  await waitFor('their leases are renewed by the new clock', due);
  for (const answer of answers) answer.resolve(204);
  for (const id of all) {
    await waitFor(`${id} is delivered`, async () => (await status(notifier, id)) === 'delivered');
  }
  await use.world.publish(event('last'));
  await waitFor('the last one is in flight', () => answers.length > 3);
  for (const answer of answers) answer.resolve(204);
  expect(seen(server)).toEqual([...all, 'last']);
});
