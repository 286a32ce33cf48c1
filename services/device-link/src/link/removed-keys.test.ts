import { status } from '@grpc/grpc-js';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { GoAwayReason } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { deviceId, otherDeviceId, World, WrongClock } from '../testing/world.ts';
import { createKeyCheck } from './key-check.ts';
import type { Session } from './session.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

const checks = (n: number) => {
  const until = world.keyChecks + n;
  return waitFor('checks of the keys', () => world.keyChecks >= until);
};

// withstands headsets/removed-key
test('the session of a removed key ends on every instance, the others go on', async () => {
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

test('a session that has its full age asks its headset to come back, each at a time of its own', async () => {
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

test('a turn asks about no more sessions than it may, and every session has its turn', async () => {
  const asked: string[][] = [];
  const sessions = Array.from({ length: 5 }, (_, n) => ({ deviceId: String(n), keyId: 'k', ended: false }));
  const check = createKeyCheck({
    sessions: () => sessions as unknown as Session[],
    keys: {
      checkHeadsetKeys: async ({ keys = [] }) => {
        asked.push(keys.map(({ deviceId: id }) => id ?? ''));
        return { removed: [] } as never;
      },
    },
    logger: createLogger({ level: 'silent' }),
    everyMs: 1,
    mostPerTurn: 2,
  });
  await check.start();
  await waitFor('two rounds', () => asked.length >= 6);
  await check.stop();
  expect(asked.slice(0, 6)).toEqual([['0', '1'], ['2', '3'], ['4'], ['0', '1'], ['2', '3'], ['4']]);
});
