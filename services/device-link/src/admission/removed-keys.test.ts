import { status } from '@grpc/grpc-js';
import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deviceId, type Instance, otherDeviceId, World, WrongClock } from '../testing/world.ts';
import { createKeyCheck, type KeyHolder } from './key-check.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const checks = (n: number) => {
  const until = world.keyChecks + n;
  return waitFor('checks of the keys', () => world.keyChecks >= until);
};

// protects against headsets/removed-key
test('the session of a removed key ends on every instance, the others continue', async () => {
  const instances = [
    await world.start({ DEVICE_LINK_KEY_CHECK_MS: 50 }),
    await world.start({ DEVICE_LINK_KEY_CHECK_MS: 50 }),
  ] as const;
  const removed = world.dial(instances[0], { hello: {} });
  const staying = world.dial(instances[1], { id: otherDeviceId, hello: {} });
  await removed.next('welcome');
  await staying.next('welcome');
  await checks(4);
  expect([removed.end, staying.end]).toEqual([undefined, undefined]);
  world.keys = { [otherDeviceId]: world.keys?.[otherDeviceId] ?? {} };
  expect(await removed.next('goAway')).toMatchObject({ reason: GoAwayReason.KEY_REMOVED });
  await removed.ended(status.OK);
  world.keys = {};
  expect(await staying.next('goAway')).toMatchObject({ reason: GoAwayReason.KEY_REMOVED });
});

/** A stream without a hello whose token was checked before the key was removed; another headset has a session. */
async function checkedThenRemoved(instance: Instance) {
  const silent = world.dial(instance);
  await waitFor('its keys to be read', () => world.keyReads === 1);
  const inside = world.dial(instance, { id: otherDeviceId, hello: {} });
  await inside.next('welcome');
  world.keys = { [otherDeviceId]: world.keys?.[otherDeviceId] ?? {} };
  return { silent, inside };
}

// protects against headsets/removed-key
test('a stream that waits with its hello ends when its key is removed', async () => {
  const instance = await world.start({ DEVICE_LINK_KEY_CHECK_MS: 50 });
  const { silent, inside } = await checkedThenRemoved(instance);
  await checks(2);
  silent.hello();
  await silent.ended(status.UNAUTHENTICATED);
  expect(silent.received).toEqual([]);
  expect(inside.end).toBeUndefined();
});

// protects against headsets/removed-key
test('a late hello has its key checked again', async () => {
  const clock = createFakeTime(Date.now());
  const instance = await world.start({ DEVICE_LINK_KEY_CHECK_MS: 600_000 }, undefined, clock);
  const { silent } = await checkedThenRemoved(instance);
  await clock.advance(2001);
  silent.hello();
  await silent.ended(status.UNAUTHENTICATED);
  expect(silent.received).toEqual([]);
});

test('a stream with a registered key may send a late hello, and its key is not checked more often than needed', async () => {
  const clock = createFakeTime(Date.now());
  const instance = await world.start({ DEVICE_LINK_KEY_CHECK_MS: 50 }, undefined, clock);
  const headset = world.dial(instance);
  await waitFor('checks of its key', () => world.keyChecks >= 2);
  await clock.advance(2001);
  headset.hello();
  await headset.next('welcome');
  expect(world.keyReads).toBe(2);
  const prompt = world.dial(instance, { id: otherDeviceId, hello: {} });
  await prompt.next('welcome');
  expect(world.keyReads).toBe(3);
});

test('nothing ends while devices does not answer', async () => {
  const instance = await world.start({ DEVICE_LINK_KEY_CHECK_MS: 50 });
  const headset = world.dial(instance, { hello: {} });
  await headset.next('welcome');
  const { keys } = world;
  world.keys = undefined;
  await checks(3);
  world.keys = keys;
  await checks(3);
  expect(headset.end).toBeUndefined();
  expect(headset.received.map(({ case: kind }) => kind)).not.toContain('goAway');
});

test('a session at its maximum age asks its headset to reconnect, each at a different time', async () => {
  const clock = new WrongClock(0);
  const instance = await world.start({ DEVICE_LINK_SESSION_AGE_MS: 100_000 }, undefined, clock);
  const headset = world.dial(instance, { hello: {} });
  await headset.next('welcome');
  const young = world.dial(instance, { id: otherDeviceId, hello: {} });
  clock.elapsedMs += 60_000;
  await young.next('welcome');
  await checks(1);
  expect(headset.received.map(({ case: kind }) => kind)).not.toContain('goAway');
  clock.elapsedMs += 40_001;
  const { reason, retryAfterMs } = await headset.next('goAway');
  expect(reason).toBe(GoAwayReason.DRAINING);
  expect(retryAfterMs).toBeLessThanOrEqual(1000);
  await headset.ended(status.OK);
  const again = world.dial(instance, { id: deviceId, hello: {} });
  await again.next('welcome');
});

/** Checks five sessions, two per turn; devices reports that `recent` have just lost a key. Returns the checked keys. */
async function checkFive(calls: number, recent: readonly string[]): Promise<string[][]> {
  const asked: string[][] = [];
  const sessions = Array.from({ length: 5 }, (_, n) => ({ deviceId: String(n), keyId: 'k', ended: false }));
  const check = createKeyCheck({
    sessions: () => sessions as unknown as KeyHolder[],
    keys: {
      checkHeadsetKeys: async ({ keys = [], withRecent }) => {
        asked.push(keys.map(({ deviceId: id }) => id ?? ''));
        return { removed: [], recentDeviceIds: withRecent ? recent : [] } as never;
      },
    },
    logger: createLogger({ level: 'silent' }),
    everyMs: 1,
    maxPerCheck: 2,
  });
  await check.start();
  await waitFor('the calls', () => asked.length >= calls);
  await check.stop();
  return asked.slice(0, calls);
}

test('a turn checks no more sessions than its limit, and every session is checked', async () => {
  expect(await checkFive(6, [])).toEqual([['0', '1'], ['2', '3'], ['4'], ['0', '1'], ['2', '3'], ['4']]);
});

test.each([
  [30, 30],
  [5000, 200],
  [30_000, 500],
  [1_000_000, 2000],
])('with %i sessions, each turn checks %i, so that a round takes at most a minute', async (count, turn) => {
  const asked: number[] = [];
  const session = { deviceId: 'd', keyId: 'k', ended: false } as KeyHolder;
  const check = createKeyCheck({
    sessions: () => Array.from({ length: count }, () => session),
    keys: {
      checkHeadsetKeys: async ({ keys = [] }) => {
        asked.push(keys.length);
        return { removed: [], recentDeviceIds: [] } as never;
      },
    },
    logger: createLogger({ level: 'silent' }),
    everyMs: 1000,
  });
  await check.start();
  await waitFor('the turn', () => asked.reduce((sum, keys) => sum + keys, 0) >= turn);
  await check.stop();
  expect(asked.reduce((sum, keys) => sum + keys, 0)).toBe(turn);
});

test('sessions of devices that have just lost a key do not wait for their turn', async () => {
  expect(await checkFive(4, ['4', 'not connected here', '3'])).toEqual([
    ['0', '1'],
    ['3', '4'],
    ['2', '3'],
    ['3', '4'],
  ]);
});

test('the session of a key that was just removed ends in the next turn, for any number of sessions', async () => {
  const ended: string[] = [];
  const sessions = ['a', 'b', 'c', 'd'].map((id) => ({
    ...{ deviceId: id, keyId: 'k', ended: false },
    keyRemoved: () => ended.push(`${id} in turn ${turns}`),
  }));
  let turns = 0;
  const check = createKeyCheck({
    sessions: () => sessions as unknown as KeyHolder[],
    keys: {
      checkHeadsetKeys: async ({ keys = [], withRecent }) => {
        if (withRecent) turns += 1;
        const removed = keys.flatMap(({ deviceId: id }, i) => (id === 'd' ? [i] : []));
        return { removed, recentDeviceIds: withRecent ? ['d'] : [] } as never;
      },
    },
    logger: createLogger({ level: 'silent' }),
    everyMs: 1,
    maxPerCheck: 1,
  });
  await check.start();
  await waitFor('the end of its session', () => ended.length > 0);
  await check.stop();
  expect(ended[0]).toBe('d in turn 1');
});
