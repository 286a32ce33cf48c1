import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { DeviceReportEventSchema } from '@headset-cloud/proto/device_link/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { notifications, occurredAtMs, receivedAtMs, report } from './testing/reports.ts';
import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

/** The network status is observed by the cloud (rule A21). */

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
  await provision(world, { name: 'other' });
});
afterEach(() => world.close());

const activate = (application: string) =>
  world.devices.activateDevice({ caller: callerOf(application), deviceId: imei(0), clientId: 'c' });
const deactivate = (application: string) =>
  world.devices.deactivateDevice({ caller: callerOf(application), deviceId: imei(0) });
const status = async (applicationId = 'app') => {
  const shown = (await world.devices.getDeviceStatus({ applicationId, deviceId: imei(0) })).status;
  return [shown?.network, shown?.networkUpdatedAtMs && Number(shown.networkUpdatedAtMs)];
};
const handle = (...events: { key: string; value: Uint8Array }[]) =>
  world.log.publish(topics.deviceReports, events);
async function handled(...events: { key: string; value: Uint8Array }[]) {
  await handle(...events);
  await waitFor('the offset', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
}
function event(
  sessionEpoch: number,
  body: MessageInitShape<typeof DeviceReportEventSchema>['body'],
  atMs: number,
  sharedIdentity = false,
) {
  const message = create(DeviceReportEventSchema, {
    deviceId: imei(0),
    sessionEpoch: BigInt(sessionEpoch),
    receivedAtMs: BigInt(atMs),
    sharedIdentity,
    body,
  });
  return { key: imei(0), value: toBinary(DeviceReportEventSchema, message) };
}
const hello = (sessionEpoch: number, atMs = receivedAtMs + sessionEpoch * 1000) =>
  event(sessionEpoch, { case: 'hello', value: { clientVersion: '3.4.0' } }, atMs);
const offline = (sessionEpoch: number, endedAtMs = receivedAtMs + sessionEpoch * 1000 + 500) =>
  event(sessionEpoch, { case: 'offline', value: { endedAtMs: BigInt(endedAtMs) } }, receivedAtMs + 1_000_000);
const at = (ms: number) => receivedAtMs + ms;
/** Session and status of the published notifications. */
const sent = async () =>
  (await notifications(world)).map(({ id, applicationId, body }) => {
    expect(body).toMatchObject({ applicationId, deviceId: imei(0) });
    expect(body['operationId']).toBe('notify-network-connection-status');
    const [, session, word] = /-session-(\d+)-(\w+)$/.exec(id) ?? [];
    expect(body['status']).toBe(word);
    return `${applicationId} ${session} ${word?.replace('connectivity_', '')} ${Number(body['timestamp']) - receivedAtMs}`;
  });

test('a headset that never connected is offline, without a time', async () => {
  await activate('app');
  expect(await status()).toEqual(['connectivity_offline', undefined]);
  const { statuses } = await world.devices.listDeviceStatuses({ applicationId: 'app' });
  expect(statuses[0]).toMatchObject({ network: 'connectivity_offline' });
});

// proves cb/3/notify-network-connection-status
test('each change is notified once, with its time, and shown', async () => {
  await activate('app');
  await handled(hello(1));
  expect(await status()).toEqual(['connectivity_online', at(1000)]);
  await handled(offline(1));
  expect(await status()).toEqual(['connectivity_offline', at(1500)]);
  await handled(hello(2), hello(3), offline(3), offline(3), hello(3), hello(4));
  expect(await status()).toEqual(['connectivity_online', at(4000)]);
  await handled(hello(4), offline(3));
  expect(await sent()).toEqual([
    'app 1 online 1000',
    'app 1 offline 1500',
    'app 2 online 2000',
    'app 3 offline 3500',
    'app 4 online 4000',
  ]);
});

test('an offline event that arrives after the next hello is dropped', async () => {
  await activate('app');
  await handled(hello(1), hello(2));
  await handled(offline(1));
  expect(await status()).toEqual(['connectivity_online', at(2000)]);
  expect(await sent()).toEqual(['app 1 online 1000']);
});

test('the status stays after a change of application; only the application that has the device is notified', async () => {
  await handled(hello(1));
  await activate('app');
  expect(await status()).toEqual(['connectivity_online', at(1000)]);
  await deactivate('app');
  await handled(offline(1));
  await activate('other');
  expect(await status('other')).toEqual(['connectivity_offline', at(1500)]);
  await handled(hello(2));
  expect(await sent()).toEqual(['other 2 online 2000']);
});

// protects against headsets/copied-identity
test('operators see that two headsets probably use one identity, until a session begins without the mark', async () => {
  const shown = async () => (await world.admin.getDevice({ deviceId: imei(0) })).device?.sharedIdentity;
  await handled(hello(1));
  expect(await shown()).toBe(false);
  const body = { case: 'hello', value: { clientVersion: '3.4.0' } } as const;
  await handled(event(2, body, receivedAtMs, true));
  expect(await shown()).toBe(true);
  await handled(hello(3));
  expect(await shown()).toBe(false);
});

test("the headset's own report of its network changes nothing, sends no notification, and is shown to operators", async () => {
  await activate('app');
  await handled(hello(1));
  await handled(report({ case: 'stateChange', value: { network: 'connectivity_offline' } }));
  expect(await status()).toEqual(['connectivity_online', at(1000)]);
  expect(await sent()).toEqual(['app 1 online 1000']);
  const { device } = await world.admin.getDevice({ deviceId: imei(0) });
  expect(device).toMatchObject({
    headsetNetwork: 'connectivity_offline',
    headsetNetworkAtMs: BigInt(occurredAtMs),
    status: { network: 'connectivity_online' },
  });
});

test.each(['before', 'after'])('a crash %s the change is stored loses no notification', async (when) => {
  await activate('app');
  await handled(hello(1));
  // The log is unavailable, or the process dies after all work is done but before the offset is committed.
  if (when === 'before') world.logFailure = new Error('unavailable');
  else world.cutAt = 'after store devices.devices.reported';
  await handle(offline(1), hello(2));
  await waitFor('the crash', () => (when === 'before' ? world.logFailures > 0 : world.cutAt === undefined));
  world.logFailure = undefined;
  await waitFor('the repeat', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
  expect([...new Set(await sent())]).toEqual([
    'app 1 online 1000',
    'app 1 offline 1500',
    'app 2 online 2000',
  ]);
});
