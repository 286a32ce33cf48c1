import { generateKeyPairSync } from 'node:crypto';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { collections, type DeviceDocument } from './store/documents.ts';
import { report } from './testing/reports.ts';
import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

/** Forgetting a device (ADR 0047). */

const deviceId = imei(0);
const caller = callerOf('app');
let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
  await addKey();
  await world.admin.putDevice({ deviceId, specificDestination: 'a home' });
  await world.devices.activateDevice({ caller, deviceId, clientId: 'c' });
});
afterEach(() => world.close());

const addKey = () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKeyPem = publicKey.export({ format: 'pem', type: 'spki' }).toString();
  return world.admin.addHeadsetKey({ deviceId, publicKeyPem });
};
const deactivate = () => world.devices.deactivateDevice({ caller, deviceId });
const forget = (dryRun = false, reference = 'REQUEST-17') =>
  world.admin.forgetDevice({ deviceId, reference, dryRun });
const stored = async () =>
  world.store.collection<DeviceDocument>(collections.devices).findOne({ _id: deviceId });
const forgottenCounts = async (dryRun = false) =>
  Object.fromEntries((await forget(dryRun)).forgotten.map(({ what, removed }) => [what, removed]));
async function handled(activationEpoch: number, sessionEpoch = 1): Promise<void> {
  const state = report(
    { case: 'stateChange', value: { batteryPercentage: 80, location: { latitude: 35, longitude: 139 } } },
    { activationEpoch, sessionEpoch },
  );
  await world.log.publish(topics.deviceReports, [state]);
  await waitFor('the offset', async () => (await world.log.lag('devices', topics.deviceReports)) === 0);
}
/** Waits until the work of the activation and the deactivation in other services is done. */
const atRest = () =>
  waitFor('the work to be done', async () => {
    const found = await stored();
    return found?.pending.length === 0 && (found.lifecycle ?? []).length === 0;
  });

test('an activated device is rejected, and keeps all data', async () => {
  await handled(1);
  await atRestOrActive();
  await expect(forget()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('has to deactivate it first'),
  });
  expect(await stored()).toMatchObject({
    keys: [{}],
    specificDestination: 'a home',
    reported: { battery: {} },
  });
});

test('all personal data is removed; the epochs and ids that order later work stay; a second run changes nothing', async () => {
  await handled(1);
  await deactivate();
  await atRest();
  const before = await stored();
  const all = {
    ...{ 'headset keys': 1, 'reported values': 1, 'former activations': 1, 'destination texts': 1 },
    'dead letters': 0,
  };
  expect(await forgottenCounts(true)).toEqual(all);
  expect(await stored()).toEqual(before);
  expect(await forgottenCounts()).toEqual(all);
  const after = await stored();
  expect(after).toMatchObject({ epoch: before?.epoch, lastTransactionId: before?.lastTransactionId });
  expect(after).toMatchObject({ keys: [], reported: {}, recent: before?.recent });
  for (const gone of ['past', 'specificDestination', 'keysUsedAtMs', 'slot']) {
    expect(after).not.toHaveProperty(gone);
  }
  expect(Object.values(await forgottenCounts()).every((count) => count === 0)).toBe(true);
});

test('its sessions end, as if its keys were removed', async () => {
  await deactivate();
  await atRest();
  await forget();
  const { recentDeviceIds } = await world.keys.checkHeadsetKeys({ keys: [], withRecent: true });
  expect(recentDeviceIds).toEqual([deviceId]);
});

test('a late report restores no data; with a new key the device reports again', async () => {
  await deactivate();
  await atRest();
  await forget();
  await handled(1);
  await handled(2);
  expect((await stored())?.reported).toEqual({});
  await addKey();
  const again = await world.devices.activateDevice({ caller, deviceId, clientId: 'c' });
  expect(again.transactionId).toBeDefined();
  expect((await stored())?.epoch).toBe(3);
  await handled(3, 2);
  expect((await stored())?.reported).toMatchObject({ battery: { value: 80 }, location: {} });
});

test('an invalid reference or an unknown device is rejected', async () => {
  for (const reference of ['', 'asked by John Doe', 'x'.repeat(65)]) {
    await expect(forget(false, reference)).rejects.toMatchObject({ code: 'invalid_argument' });
  }
  await expect(world.admin.forgetDevice({ deviceId: '1', reference: 'R' })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
  await expect(world.admin.forgetDevice({ deviceId: imei(99), reference: 'R' })).rejects.toMatchObject({
    code: 'not_found',
  });
});

async function atRestOrActive(): Promise<void> {
  await waitFor('the activation', async () => (await stored())?.pending.length === 0);
}
