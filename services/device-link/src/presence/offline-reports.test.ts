import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import type { OutgoingEvent } from '@headset-cloud/eventlog/types.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { createStepRunner } from '@headset-cloud/store/schema/runner.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { SessionDirectory } from '../ports.ts';
import { createEndedSessions } from '../store/ended-sessions.ts';
import { createSessionDirectory } from '../store/session-directory.ts';
import { deviceLinkSteps } from '../store/steps.ts';
import { OfflineReports } from './offline-reports.ts';

/** When headsets are reported as offline (rule A21). */

const offlineAfterMs = 60_000;
const logger = createLogger({ service: 'test', level: 'silent' });

let folder: string;
let db: ReturnType<typeof openEmbeddedDatabase>;
let stores: ReturnType<typeof createEmbeddedStore>;
let store: Store;
let time: FakeTime;
/** Instances whose lease is alive, and since when; monotonic milliseconds. */
const leases = new Map<string, number>();
let published: OutgoingEvent[][];
let publishing: (() => Promise<void>) | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'offline-'));
  db = openEmbeddedDatabase({ directory: folder });
  stores = createEmbeddedStore(db);
  store = stores.database('device-link');
  await createStepRunner({ store, steps: deviceLinkSteps, logger, holder: 'test' }).attempt();
  time = createFakeTime();
  leases.clear();
  published = [];
  publishing = undefined;
});
afterEach(async () => {
  await stores.close();
  await db.close();
  rmSync(folder, { recursive: true });
});

interface Made {
  readonly directory: SessionDirectory;
  readonly reports: OfflineReports;
}

/** An instance whose lease begins now. */
function instance(instanceId: string): Made {
  leases.set(instanceId, time.monotonicNow());
  const live = async (ids: ReadonlySet<string>) =>
    new Map([...ids].flatMap((id) => (leases.has(id) ? [[id, id] as const] : [])));
  const directory = createSessionDirectory(store, time, { instanceId, address: () => instanceId }, { live });
  const reports = new OfflineReports({
    sessions: createEndedSessions(store, instanceId),
    leaseSinceMs: () => leases.get(instanceId) ?? Number.POSITIVE_INFINITY,
    isAlive: async (id) => leases.has(id),
    log: {
      publish: async (_, events) => {
        await publishing?.();
        published.push([...events]);
      },
    },
    ...{ clock: time, logger, instanceId, offlineAfterMs },
  });
  return { directory, reports };
}
/** An instance whose lease is old. */
async function running(instanceId: string): Promise<Made> {
  const made = instance(instanceId);
  await pass(offlineAfterMs, made);
  return made;
}
/** Time passes, and each instance polls as often as it should. */
async function pass(ms: number, ...instances: Made[]): Promise<void> {
  const everyMs = 2000;
  for (let passed = 0; passed < ms; passed += everyMs) {
    await time.advance(everyMs);
    for (const { reports } of instances) await reports.poll();
  }
}
/** Device and session epoch of the headsets reported as offline, in order. */
const reported = () =>
  published.flat().map(({ value }) => {
    const { deviceId, sessionEpoch, body } = fromBinary(DeviceReportEventSchema, value);
    expect(body.case).toBe('offline');
    return `${deviceId} ${sessionEpoch}`;
  });
const connect = async ({ directory }: Made, deviceId: string) => ({
  ...{ deviceId, ackedReportId: 0, unresponsive: false },
  epoch: (await directory.register(deviceId)).epoch,
});

test('a headset is offline after the whole time without a session, and is reported once', async () => {
  const a = await running('a');
  const session = await connect(a, '1');
  await pass(80_000, a);
  expect(reported()).toEqual([]);
  await a.directory.release([session]);
  const endedAtMs = time.now();
  await pass(58_000, a);
  expect(reported()).toEqual([]);
  await pass(2000, a);
  expect(reported()).toEqual(['1 1']);
  const { body } = fromBinary(DeviceReportEventSchema, published[0]?.[0]?.value as Uint8Array);
  expect(body).toMatchObject({ case: 'offline', value: { endedAtMs: BigInt(endedAtMs) } });
  await pass(180_000, a);
  expect(reported()).toEqual(['1 1']);
  // The time of a person's last session is personal data: it is deleted as soon as possible.
  expect(await store.collection<{ _id: string }>('sessions').findOne({ _id: '1' })).toEqual({
    _id: '1',
    epoch: 1,
  });
});

test('a headset that reconnects in time is not offline, even if it disconnects often', async () => {
  const a = await running('a');
  for (let n = 0; n < 5; n += 1) {
    await a.directory.release([await connect(a, '1')]);
    await pass(54_000, a);
  }
  expect(reported()).toEqual([]);
  await pass(6000, a);
  expect(reported()).toEqual(['1 5']);
});

test('sessions of a killed instance count as ended when the instance is found dead', async () => {
  const [a, b] = [await running('a'), instance('b')];
  await b.directory.release([await connect(b, '0')]);
  await connect(b, '1');
  await connect(b, '2');
  await connect(a, '3');
  leases.delete('b');
  await pass(30_000, a);
  await connect(a, '2');
  await pass(30_000, a);
  expect(reported()).toEqual([]);
  await pass(2000, a);
  expect(reported().toSorted()).toEqual(['0 1', '1 1']);
});

test('a frozen instance that was treated as dead keeps its sessions', async () => {
  const [a, b] = [await running('a'), instance('b')];
  await connect(b, '1');
  leases.delete('b');
  await pass(58_000, a);
  leases.set('b', time.monotonicNow());
  await pass(180_000, a, b);
  expect(reported()).toEqual([]);
  // After its next death, the time starts again.
  leases.delete('b');
  await pass(60_000, a);
  expect(reported()).toEqual([]);
  await pass(2000, a);
  expect(reported()).toEqual(['1 1']);
});

test('an expired lease restarts the time', async () => {
  const a = await running('a');
  await a.directory.release([await connect(a, '1')]);
  await pass(56_000, a);
  leases.delete('a');
  await pass(120_000, a);
  leases.set('a', time.monotonicNow());
  await pass(58_000, a);
  expect(reported()).toEqual([]);
  await pass(2000, a);
  expect(reported()).toEqual(['1 1']);
});

test('after a start headsets have the full time to reconnect', async () => {
  const before = await running('a');
  await before.directory.release([await connect(before, '1'), await connect(before, '2')]);
  await connect(before, '3');
  await pass(56_000, before);
  // Everything was down for an hour; the new process has another id.
  leases.clear();
  await time.advance(3_600_000);
  const after = instance('b');
  await pass(58_000, after);
  await connect(after, '2');
  await connect(after, '3');
  expect(reported()).toEqual([]);
  await pass(4000, after);
  expect(reported()).toEqual(['1 1']);
});

test('one of several instances reports the headsets of a dead instance', async () => {
  const instances = [await running('a'), await running('b'), await running('c')];
  const dead = instance('d');
  await dead.directory.release([await connect(dead, '1')]);
  await connect(dead, '2');
  leases.delete('d');
  await pass(62_000, ...instances);
  expect(reported().toSorted()).toEqual(['1 1', '2 1']);
  await pass(120_000, ...instances);
  expect(reported()).toHaveLength(2);
});

test('while the log is unavailable nothing is reported; afterwards the headsets that are still away', async () => {
  const a = await running('a');
  await a.directory.release([await connect(a, '1'), await connect(a, '2')]);
  await pass(58_000, a);
  publishing = () => Promise.reject(new Error('away'));
  await time.advance(2000);
  await expect(a.reports.poll()).rejects.toThrow('away');
  await connect(a, '2');
  publishing = undefined;
  await pass(2000, a);
  expect(reported()).toEqual(['1 1']);
});

test('a session that begins while its headset is reported continues, and may end again', async () => {
  const a = await running('a');
  await a.directory.release([await connect(a, '1')]);
  publishing = async () => {
    publishing = undefined;
    await connect(a, '1');
  };
  await pass(60_000, a);
  expect(reported()).toEqual(['1 1']);
  expect(await a.directory.register('1')).toMatchObject({ epoch: 3, earlierInstanceId: 'a' });
  await pass(120_000, a);
  expect(reported()).toEqual(['1 1']);
  await a.directory.release([{ deviceId: '1', epoch: 3, ackedReportId: 0, unresponsive: false }]);
  await pass(60_000, a);
  expect(reported()).toEqual(['1 1', '1 3']);
});

test("a step of an instance's wall clock neither causes nor delays a report", async () => {
  const a = await running('a');
  await a.directory.release([await connect(a, '1')]);
  time.stepWallClock(3_600_000);
  await pass(30_000, a);
  time.stepWallClock(-7_200_000);
  await pass(28_000, a);
  expect(reported()).toEqual([]);
  await pass(2000, a);
  expect(reported()).toEqual(['1 1']);
});

test('five thousand sessions that end at once are reported in few publications, each document read once', async () => {
  const a = await running('a');
  const ids = Array.from({ length: 5000 }, (_, n) => String(n));
  await a.directory.release(await Promise.all(ids.map((id) => connect(a, id))));
  const before = stores.statistics.documentsExamined;
  await pass(58_000, a);
  // Each poll finds an instance by its first session.
  expect(stores.statistics.documentsExamined - before).toBeLessThan(200);
  await pass(2000, a);
  expect(new Set(reported()).size).toBe(5000);
  expect(published).toHaveLength(10);
});

describe('beside release 0.1.0', () => {
  const sessions = () => store.collection<{ _id: string; [field: string]: unknown }>('sessions');

  test.each([
    ['has just ended', { away: -1, endedAtMs: 5 }],
    ['was counted', { away: 17, endedAtMs: 5 }],
  ])('a session that %s on it is counted from now on', async (_, fields) => {
    const a = await running('a');
    await sessions().insertOne({ _id: '1', epoch: 4, ...fields });
    await pass(58_000, a);
    expect(reported()).toEqual([]);
    await pass(4000, a);
    expect(reported()).toEqual(['1 4']);
    expect(await sessions().findOne({ _id: '1' })).toEqual({ _id: '1', epoch: 4 });
  });

  test('a session that one of its instances may reclaim stays until that instance is dead', async () => {
    const a = await running('a');
    leases.set('old', 0);
    await sessions().insertOne({ _id: '1', epoch: 4, instanceId: 'old', away: 17, endedAtMs: 5 });
    await pass(120_000, a);
    expect(await sessions().findOne({ _id: '1' })).toMatchObject({ instanceId: 'old', away: 17 });
    leases.delete('old');
    await pass(62_000, a);
    expect(reported()).toEqual(['1 4']);
  });
});
