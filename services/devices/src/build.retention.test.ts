import { create, toBinary } from '@bufbuild/protobuf';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { collections, type DeviceDocument } from './store/documents.ts';
import { reportedOfDeactivated } from './store/retention.ts';
import { receivedAtMs, report } from './testing/reports.ts';
import { atRest, callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

const dayMs = 86_400_000;
const device = imei(0);
let world: World;
beforeEach(async () => {
  world = await openWorld({ RETENTION_INTERVAL_MS: 50 });
  await provision(world);
  await activate();
});
afterEach(() => world.close());

const caller = callerOf('app');
const activate = () => world.devices.activateDevice({ caller, deviceId: device, clientId: 'c' });
const deactivate = () => world.devices.deactivateDevice({ caller, deviceId: device });
const documents = () => world.store.collection<DeviceDocument>(collections.devices);
const stored = async () => {
  const found = await documents().findOne({ _id: device });
  if (!found) throw new Error('no document');
  return found;
};
const state = (activationEpoch: number) =>
  report(
    {
      case: 'stateChange',
      value: { power: 'started', batteryPercentage: 80, location: { latitude: 35, longitude: 139 } },
    },
    { activationEpoch },
  );
const inventory = (activationEpoch: number) =>
  report(
    {
      case: 'inventory',
      value: {
        firmwareVersion: '9.1.0',
        apps: [{ package: 'com.example', version: '1' }],
        languages: ['ja'],
      },
    },
    { activationEpoch },
  );
function hello(activationEpoch: number) {
  const event = create(DeviceReportEventSchema, {
    ...{ deviceId: device, sessionEpoch: 1n, receivedAtMs: BigInt(receivedAtMs) },
    activationEpoch: BigInt(activationEpoch),
    body: {
      case: 'hello',
      value: { clientVersion: '3.4.0', firmwareVersion: '9.0.0', apps: [{ package: 'a.b', version: '1' }] },
    },
  });
  return { key: device, value: toBinary(DeviceReportEventSchema, event) };
}
async function handled(...events: ReturnType<typeof report>[]) {
  await world.log.publish(topics.deviceReports, events);
  await waitFor('the offset', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
}

test('a deactivation removes the location at once, and a late report does not restore it', async () => {
  await handled(state(1));
  expect((await stored()).reported.location?.value).toEqual({ latitude: 35, longitude: 139 });
  await deactivate();
  expect((await stored()).reported).toMatchObject({ battery: { value: 80 } });
  expect((await stored()).reported).not.toHaveProperty('location');
  await handled(state(1));
  expect((await stored()).reported).not.toHaveProperty('location');
  // The next activation does not accept a location from before, either.
  await activate();
  await handled(state(1));
  expect((await stored()).reported).not.toHaveProperty('location');
  await handled(state(3));
  expect((await stored()).reported).toHaveProperty('location');
});

test('the rest of the reported state is deleted 30 days after the deactivation; the versions that decide about operations stay', async () => {
  await handled(hello(1), state(1), inventory(1));
  await deactivate();
  world.nowMs += 29 * dayMs;
  await ran();
  expect((await stored()).reported).toHaveProperty('battery');
  world.nowMs += dayMs;
  await ran();
  const { reported } = await stored();
  expect(Object.keys(reported).sort()).toEqual(['introducedEpoch', 'introduction', 'inventory']);
  expect(reported.introduction).toMatchObject({ clientVersion: '3.4.0', sessionEpoch: 1, apps: [] });
  expect(reported.inventory).toMatchObject({ firmwareVersion: '9.1.0', apps: [], languages: [] });
});

test('an active device keeps its state, also if it was deactivated before', async () => {
  await deactivate();
  world.nowMs += 10 * dayMs;
  await activate();
  await handled(state(3));
  world.nowMs += 25 * dayMs;
  await ran();
  expect((await stored()).reported).toMatchObject({ battery: { value: 80 }, location: {} });
  expect(await stored()).not.toHaveProperty('deactivatedAtMs');
});

test('a device that release 0.1.0 deactivated loses its location at once, and the rest after the retention period', async () => {
  await handled(state(1));
  await deactivate();
  const location = { reportId: 1, atMs: 1, epoch: 1, value: { latitude: 1, longitude: 1 } };
  await documents().updateOne(
    { _id: device },
    { $unset: { deactivatedAtMs: '' }, $set: { 'reported.location': location } },
  );
  await ran();
  expect((await stored()).deactivatedAtMs).toBeDefined();
  expect((await stored()).reported).not.toHaveProperty('location');
  expect((await stored()).reported).toHaveProperty('battery');
  world.nowMs += 31 * dayMs;
  await ran();
  expect((await stored()).reported).not.toHaveProperty('battery');
});

onEmbedded(
  'devices are found by an index, whatever the number of active and recently deactivated devices',
  async () => {
    const active = { applicationId: 'app', epoch: 1, sinceEpoch: 1 };
    // After this the copies have no pending work for the sweeper.
    await atRest(world);
    const { activation: _none, ...blank } = await stored();
    const many = (first: number, more: (n: number) => Partial<DeviceDocument>) =>
      Array.from({ length: 200 }, (_, n) => ({ ...blank, _id: imei(first + n), ...more(n) }));
    await documents().insertMany([
      ...many(1000, (n) => ({ activation: { ...active, clientId: `c${n}` } })),
      ...many(2000, () => ({ deactivatedAtMs: world.nowMs })),
    ]);
    const kind = reportedOfDeactivated(documents(), dayMs, { now: () => world.nowMs });
    const before = world.documentsExamined();
    await kind.find(world.nowMs, 20);
    await kind.oldestMs();
    expect(world.documentsExamined() - before).toBeLessThan(30);
  },
);

/** Waits until a retention run that began after this call has ended: the second run that ends. */
async function ran() {
  const states = world.store.collection('retention');
  for (let runs = 0; runs < 2; runs++) {
    world.nowMs += 100;
    const sinceMs = world.nowMs;
    await waitFor('a run', async () => {
      // A run is due some time after the end of the previous run.
      world.nowMs += 100;
      const state = await states.findOne({ _id: 'reported-state' as never });
      return ((state?.['completedAtMs'] as number | undefined) ?? 0) >= sinceMs;
    });
  }
}
