import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import type { OutgoingEvent } from '@headset-cloud/kit/eventlog/types.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { createStepRunner } from '@headset-cloud/kit/schema/runner.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { OfflineWatch } from './offline-watch.ts';
import type { AwaySessions, SessionDirectory } from './ports.ts';
import { createAwaySessions } from './store/away-sessions.ts';
import { createSessionDirectory } from './store/session-directory.ts';
import { deviceLinkSteps } from './store/steps.ts';

/** When headsets are told to be offline (rule A21): every step of time is made by the test. */

const offlineAfterMs = 60_000;
const stretchMs = offlineAfterMs / 20;
const logger = createLogger({ service: 'test', level: 'silent' });

let folder: string;
let db: ReturnType<typeof openEmbeddedDatabase>;
let stores: ReturnType<typeof createEmbeddedStore>;
let store: Store;
let sessions: AwaySessions;
let monotonicMs: number;
let wallMs: number;
const alive = new Set<string>();
let published: OutgoingEvent[][];
let publishing: (() => Promise<void>) | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'offline-'));
  db = openEmbeddedDatabase({ directory: folder });
  stores = createEmbeddedStore(db);
  store = stores.database('device-link');
  await createStepRunner({ store, steps: deviceLinkSteps, logger, holder: 'test' }).attempt();
  sessions = createAwaySessions(store);
  monotonicMs = 1000;
  wallMs = 1_800_000_000_000;
  alive.clear();
  published = [];
  publishing = undefined;
});
afterEach(async () => {
  await stores.close();
  await db.close();
  rmSync(folder, { recursive: true });
});

const clock = { now: () => wallMs };
function directory(instanceId: string): SessionDirectory {
  alive.add(instanceId);
  const leases = { live: async (ids: ReadonlySet<string>) => new Map([...ids].map((id) => [id, id])) };
  return createSessionDirectory(store, clock, { instanceId, address: () => instanceId }, leases);
}
function watch(instanceId: string, of: AwaySessions = sessions): OfflineWatch {
  return new OfflineWatch({
    sessions: of,
    isAlive: async (id) => alive.has(id),
    log: {
      publish: async (_, events) => {
        await publishing?.();
        published.push([...events]);
      },
    },
    ...{ clock, logger, instanceId, offlineAfterMs },
    monotonic: () => monotonicMs,
  });
}
/** So many stretches pass, and each watch polls as often as it should. */
async function pass(count: number, ...watches: OfflineWatch[]): Promise<void> {
  for (let n = 0; n < count * 3; n += 1) {
    monotonicMs += stretchMs / 3;
    wallMs += stretchMs / 3;
    for (const one of watches) await one.poll();
  }
}
/** A watch that has followed the count for a while. */
async function running(instanceId: string): Promise<OfflineWatch> {
  const made = watch(instanceId);
  await made.poll();
  await pass(22, made);
  return made;
}
/** Device and session epoch of those told to be offline, in order. */
const told = () =>
  published.flat().map(({ value }) => {
    const { deviceId, sessionEpoch, body } = fromBinary(DeviceReportEventSchema, value);
    expect(body.case).toBe('offline');
    return `${deviceId} ${sessionEpoch}`;
  });
const connect = async (to: SessionDirectory, deviceId: string) => ({
  ...{ deviceId, ackedReportId: 0, unresponsive: false },
  epoch: (await to.register(deviceId)).epoch,
});

test('a headset is offline when its session has been over for the whole time, and is told once', async () => {
  const a = directory('a');
  const one = await running('a');
  const session = await connect(a, '1');
  await pass(30, one);
  expect(told()).toEqual([]);
  await a.release([session]);
  const endedAtMs = wallMs;
  await pass(20, one);
  expect(told()).toEqual([]);
  await pass(2, one);
  expect(told()).toEqual(['1 1']);
  const { body } = fromBinary(DeviceReportEventSchema, published[0]?.[0]?.value as Uint8Array);
  expect(body).toMatchObject({ case: 'offline', value: { endedAtMs: BigInt(endedAtMs) } });
  await pass(60, one);
  expect(told()).toEqual(['1 1']);
  // When a person's headset was last there is kept no longer than it is needed.
  expect(await store.collection<{ _id: string }>('sessions').findOne({ _id: '1' })).toEqual({
    _id: '1',
    epoch: 1,
  });
});

test('one that is back in time is not, however often it comes and goes', async () => {
  const a = directory('a');
  const one = await running('a');
  for (let n = 0; n < 5; n += 1) {
    await a.release([await connect(a, '1')]);
    await pass(18, one);
  }
  expect(told()).toEqual([]);
  await pass(4, one);
  expect(told()).toEqual(['1 5']);
});

test('sessions of an instance that was killed are over from when it is found dead', async () => {
  const one = await running('a');
  const b = directory('b');
  await connect(b, '1');
  await connect(b, '2');
  await connect(directory('a'), '3');
  alive.delete('b');
  await pass(10, one);
  await connect(directory('a'), '2');
  await pass(12, one);
  expect(told()).toEqual(['1 1']);
});

test('an instance that was taken for dead, but was only frozen, keeps its sessions', async () => {
  const one = await running('a');
  const other = await running('b');
  await connect(directory('b'), '1');
  alive.delete('b');
  await pass(15, one);
  alive.add('b');
  await pass(40, one, other);
  expect(told()).toEqual([]);
});

test('the time does not run while nothing works: after an outage it begins anew', async () => {
  const a = directory('a');
  const one = await running('a');
  await a.release([await connect(a, '1')]);
  await pass(18, one);
  // Frozen for an hour.
  monotonicMs += 3_600_000;
  wallMs += 3_600_000;
  await pass(19, one);
  expect(told()).toEqual([]);
  await pass(3, one);
  expect(told()).toEqual(['1 1']);
});

test('after a start headsets have the full time to come back, whatever was counted before', async () => {
  const a = directory('a');
  const before = await running('a');
  await a.release([await connect(a, '1'), await connect(a, '2')]);
  await connect(a, '3');
  await pass(19, before);
  // Everything was down for an hour; the new process has another id.
  alive.clear();
  wallMs += 3_600_000;
  const b = directory('b');
  const after = watch('b');
  await after.poll();
  await pass(18, after);
  await connect(b, '2');
  await connect(b, '3');
  expect(told()).toEqual([]);
  await pass(4, after);
  expect(told()).toEqual(['1 1']);
});

test('an instance that joins others does not hold them up', async () => {
  const a = directory('a');
  const one = await running('a');
  await a.release([await connect(a, '1')]);
  await pass(15, one);
  const joined = watch('b');
  await pass(7, joined, one);
  expect(told()).toEqual(['1 1']);
});

test('several instances count the same time together, and tell once', async () => {
  const a = directory('a');
  const watches = [await running('a'), await running('b'), await running('c')];
  await a.release([await connect(a, '1')]);
  await pass(19, ...watches);
  expect(told()).toEqual([]);
  await pass(3, ...watches);
  expect(told()).toEqual(['1 1']);
  const { count } = await sessions.count();
  await pass(10, ...watches);
  expect((await sessions.count()).count - count).toBeLessThanOrEqual(10);
});

test('while the store is away the time does not run', async () => {
  const a = directory('a');
  let isAway = false;
  const faulty: AwaySessions = {
    ...sessions,
    count: async () => {
      if (isAway) throw new Error('away');
      return sessions.count();
    },
  };
  const one = watch('a', faulty);
  await one.poll();
  await pass(22, one);
  await a.release([await connect(a, '1')]);
  await pass(18, one);
  isAway = true;
  for (let n = 0; n < 30; n += 1) {
    monotonicMs += stretchMs;
    await expect(one.poll()).rejects.toThrow('away');
  }
  isAway = false;
  await pass(19, one);
  expect(told()).toEqual([]);
  await pass(3, one);
  expect(told()).toEqual(['1 1']);
});

test('while headsets cannot be let in through our fault nobody goes offline', async () => {
  const a = directory('a');
  const one = await running('a');
  await a.release([await connect(a, '1')]);
  for (let n = 0; n < 10; n += 1) {
    await pass(10, one);
    one.troubled();
  }
  expect(told()).toEqual([]);
  await pass(22, one);
  expect(told()).toEqual(['1 1']);
});

test('while the log is away nobody is told; afterwards those who are away still', async () => {
  const a = directory('a');
  const one = await running('a');
  await a.release([await connect(a, '1'), await connect(a, '2')]);
  await pass(19, one);
  publishing = () => Promise.reject(new Error('away'));
  const failed: unknown[] = [];
  for (let n = 0; n < 30; n += 1) await pass(1, one).catch((error) => failed.push(error));
  expect(failed.length).toBeGreaterThan(0);
  await connect(a, '2');
  publishing = undefined;
  await pass(2, one);
  expect(told()).toEqual(['1 1']);
});

test('a session that begins while its headset is told to be offline stays, and may end again', async () => {
  const a = directory('a');
  const one = await running('a');
  await a.release([await connect(a, '1')]);
  publishing = async () => {
    publishing = undefined;
    await connect(a, '1');
  };
  await pass(22, one);
  expect(told()).toEqual(['1 1']);
  expect(await a.register('1')).toMatchObject({ epoch: 3, earlierInstanceId: 'a' });
  await pass(40, one);
  expect(told()).toEqual(['1 1']);
  await a.release([{ deviceId: '1', epoch: 3, ackedReportId: 0, unresponsive: false }]);
  await pass(22, one);
  expect(told()).toEqual(['1 1', '1 3']);
});

test("a step of an instance's wall clock makes nobody offline", async () => {
  const a = directory('a');
  const one = await running('a');
  await a.release([await connect(a, '1')]);
  await pass(5, one);
  wallMs += 3_600_000;
  await pass(5, one);
  wallMs -= 7_200_000;
  await pass(9, one);
  expect(told()).toEqual([]);
  await pass(3, one);
  expect(told()).toEqual(['1 1']);
});

test('five thousand sessions that end at once are told in few publications', async () => {
  const a = directory('a');
  const one = await running('a');
  const ids = Array.from({ length: 5000 }, (_, n) => String(n));
  const ended = await Promise.all(ids.map((id) => connect(a, id)));
  await a.release(ended);
  const before = stores.statistics.documentsExamined;
  await pass(20, one);
  // Noted once; the steps in between look at none of them.
  expect(stores.statistics.documentsExamined - before).toBeLessThan(6000);
  await pass(2, one);
  expect(new Set(told()).size).toBe(5000);
  expect(published).toHaveLength(10);
});
