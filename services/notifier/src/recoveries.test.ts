import type { Crash } from '@headset-cloud/process/testing/crash-points.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ago, seen, status, useWorld } from './testing/fixture.ts';
import { createManualClocks, type ManualClocks } from './testing/manual-clocks.ts';

const use = useWorld();
const deliveries = () => use.world.newest.deliveries;
const caller = (applicationId = 'a-1', key?: string, bytes = 'b') => ({
  ...{ clientId: 'c-1', applicationId },
  ...(key && { idempotency: { key, method: 'POST', path: '/p', bodySha256: Buffer.from(bytes) } }),
});
const body = (operationId: string) => Buffer.from(JSON.stringify({ operationId }));

/** Dead callbacks, and a server that accepts them from now on. */
async function givenUp(...[count, ...options]: [number, ...Parameters<typeof use.world.start>]) {
  let open = false;
  const server = await use.integrator(() => ({ status: open ? 204 : 410 }));
  use.pointTo('a-1', server);
  const notifier = await use.world.start(...options);
  const ids = Array.from({ length: count }, (_, i) => `n-${i}`);
  await use.world.publish(
    ...ids.map((notificationId, i) => ({
      ...{ notificationId, applicationId: 'a-1', body: body(i % 2 === 0 ? 'notify-boot' : 'notify-volume') },
    })),
  );
  await waitFor('all to be dead', async () => {
    const states = await Promise.all(ids.map((id) => status(notifier, id).catch(() => '')));
    return states.every((state) => state === 'dead');
  });
  open = true;
  return { server, ids };
}
const arrivalsOf = (server: Parameters<typeof seen>[0], id: string) =>
  seen(server).filter((one) => one === id).length;
const ended = (recoveryId: string, time?: ManualClocks) =>
  waitFor('the recovery to end', async () => {
    time?.pass(100);
    const { recovery } = await deliveries().readRecovery({ applicationId: 'a-1', recoveryId });
    return recovery?.endedAtMs !== 0n && recovery;
  });

test('all dead callbacks are sent again, once each, with readable progress; a dry run only counts', async () => {
  // After its first batch the recovery waits until the clocks advance. So it is still running when another one is
  // requested.
  const time = createManualClocks();
  const { server, ids } = await givenUp(12, { NOTIFIER_RECOVER_PER_SECOND: '5' }, { time });
  const dry = await deliveries().recover({ caller: caller(), sinceMs: 0n, dryRun: true });
  expect([dry.count, dry.recovery]).toEqual([12, undefined]);
  const byType = { caller: caller(), sinceMs: 0n, dryRun: true, types: ['notify-boot'] };
  expect((await deliveries().recover(byType)).count).toBe(6);
  expect((await deliveries().recover({ ...byType, destination: 'soraEvent' })).count).toBe(0);
  expect((await deliveries().recover({ caller: caller('a-2'), sinceMs: 0n, dryRun: true })).count).toBe(0);
  const later = BigInt(Date.now() + 60_000);
  expect((await deliveries().recover({ caller: caller(), sinceMs: later, dryRun: true })).count).toBe(0);
  const { count, recovery } = await deliveries().recover({ caller: caller('a-1', 'k'), sinceMs: 0n });
  const recoveryId = recovery?.recoveryId ?? '';
  expect([count, recovery?.total]).toEqual([12, 12]);
  const again = await deliveries().recover({ caller: caller('a-1', 'k'), sinceMs: 0n });
  expect(again.recovery?.recoveryId).toBe(recoveryId);
  await expect(
    deliveries().recover({ caller: caller('a-1', 'k', 'another body'), sinceMs: 1n }),
  ).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  await expect(deliveries().recover({ caller: caller(), sinceMs: 0n })).rejects.toMatchObject({
    code: 'conflict',
  });
  await expect(deliveries().readRecovery({ applicationId: 'a-2', recoveryId })).rejects.toMatchObject({
    code: 'not_found',
  });
  expect(await ended(recoveryId, time)).toMatchObject({ total: 12, done: 12 });
  await waitFor('all to arrive', () => ids.every((id) => arrivalsOf(server, id) === 2));
  const documents = await use.world.store.collection('recoveries').find({}).toArray();
  expect(documents[0]).not.toHaveProperty('ids');
  // Also later, and after other recoveries.
  expect((await deliveries().recover({ caller: caller(), sinceMs: 0n })).count).toBe(0);
  const late = await deliveries().recover({ caller: caller('a-1', 'k'), sinceMs: 0n });
  expect(late.recovery?.recoveryId).toBe(recoveryId);
});

test('a batch is sent at most once per second, however often the instances look for work', async () => {
  const time = createManualClocks();
  await givenUp(12, { NOTIFIER_RECOVER_PER_SECOND: '5' }, { time });
  const { recovery } = await deliveries().recover({ caller: caller(), sinceMs: 0n });
  const recoveryId = recovery?.recoveryId ?? '';
  const done = async () =>
    (await deliveries().readRecovery({ applicationId: 'a-1', recoveryId })).recovery?.done;
  await waitFor('the first batch', async () => (await done()) === 5);
  time.pass(999);
  // The instance looks for work of all applications, because of a recovery of another one.
  const { recovery: other } = await deliveries().recover({ caller: caller('a-2'), sinceMs: 0n });
  await waitFor('the other recovery to end', async () => {
    const request = { applicationId: 'a-2', recoveryId: other?.recoveryId ?? '' };
    return (await deliveries().readRecovery(request)).recovery?.endedAtMs !== 0n;
  });
  expect(await done()).toBe(5);
  time.pass(1);
  await waitFor('the second batch', async () => (await done()) === 10);
});

test('more than the limit are rejected with their number', async () => {
  await givenUp(5, { NOTIFIER_RECOVER_LIMIT: '4' });
  for (const dryRun of [true, false]) {
    await expect(deliveries().recover({ caller: caller(), sinceMs: 0n, dryRun })).rejects.toMatchObject({
      ...{
        code: 'invalid_argument',
        message: expect.stringContaining('5 deliveries match, but a recovery sends at most 4.'),
      },
    });
  }
});

test('more ended deliveries than may be searched are rejected, whatever the other filters', async () => {
  await givenUp(4, { NOTIFIER_RECOVER_LIMIT: '1' });
  const request = { caller: caller(), sinceMs: 0n, types: ['notify-network'], dryRun: true };
  await expect(deliveries().recover(request)).rejects.toMatchObject({
    ...{ code: 'invalid_argument', message: expect.stringContaining('searches at most 3 ended deliveries') },
  });
});

test('if a process dies in the middle another one sends the rest, and nothing is sent twice', async () => {
  const { server, ids } = await givenUp(12, { NOTIFIER_RECOVER_PER_SECOND: '5' });
  await use.world.newest.stop();
  // The resends are stored, the progress is not.
  const crash: Crash = { cutAt: 'before store notifier.recoveries.next 2' };
  const dying = await use.world.start({ NOTIFIER_RECOVER_PER_SECOND: '5' }, { crash });
  const { recovery } = await dying.deliveries.recover({ caller: caller(), sinceMs: 0n });
  const recoveryId = recovery?.recoveryId ?? '';
  await waitFor('its death', () => crash.cutAt === undefined);
  await dying.stop();
  // Another instance continues when the lease has expired.
  await use.world.store.collection('recoveries').updateMany({}, { $set: { dueAtMs: 0 } });
  await use.world.start({ NOTIFIER_RECOVER_PER_SECOND: '5' });
  await ended(recoveryId);
  await waitFor('all to arrive', () => ids.every((id) => arrivalsOf(server, id) >= 2));
  expect(ids.map((id) => arrivalsOf(server, id))).toEqual(ids.map(() => 2));
});

test('a process that dies before its recovery is stored blocks the application for only a minute', async () => {
  const { ids } = await givenUp(2);
  const places = use.world.store.collection<{ _id: string; recoveryId: string; atMs: number }>('recovering');
  await places.insertOne({ _id: 'a-1', recoveryId: 'never-stored', atMs: Date.now() });
  const begin = () => deliveries().recover({ caller: caller(), sinceMs: 0n });
  await expect(begin()).rejects.toMatchObject({
    ...{ code: 'unavailable', message: expect.stringContaining('for up to one minute') },
  });
  await places.updateOne({ _id: 'a-1' }, { $set: { atMs: ago(61_000) } });
  const { recovery } = await begin();
  expect(await ended(recovery?.recoveryId ?? '')).toMatchObject({ total: ids.length, done: ids.length });
  await waitFor('the application to be free', async () => (await places.countDocuments({})) === 0);
  // A process that died after the end, before it freed the application.
  await places.insertOne({ _id: 'a-1', recoveryId: recovery?.recoveryId ?? '', atMs: Date.now() });
  expect((await begin()).count).toBe(0);
});
