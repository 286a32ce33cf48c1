import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

/** The activation that a headset's welcome carries (rule A7). */

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
  await provision(world, { name: 'other' });
});
afterEach(() => world.close());

const activate = (application: string, clientId: string, clientSecret = '') =>
  world.devices.activateDevice({
    ...{ caller: callerOf(application), deviceId: imei(0) },
    ...{ clientId, clientSecret },
  });
const deactivate = (application: string) =>
  world.devices.deactivateDevice({ caller: callerOf(application), deviceId: imei(0) });
const current = async (deviceId = imei(0)) =>
  (await world.keys.getCurrentActivation({ deviceId })).activation;

const none = { applicationId: '', clientId: '', clientSecret: '', sinceEpoch: 0n };

test('a device that was never activated has no activation, at epoch 0; for an unknown device the answer is empty', async () => {
  expect(await current()).toMatchObject({ ...none, epoch: 0n, revision: 0n });
  expect(await current(imei(1234))).toBeUndefined();
});

test('the activation contains its client secret, like its own transaction', async () => {
  const { transactionId } = await activate('app', 'client-1', 'a secret');
  expect(await current()).toMatchObject({
    ...{ epoch: 1n, revision: transactionId, applicationId: 'app', sinceEpoch: 1n },
    ...{ clientId: 'client-1', clientSecret: 'a secret' },
  });
  const stored = await world.store.collection<{ _id: string }>('devices').findOne({ _id: imei(0) });
  expect(JSON.stringify(stored)).not.toContain('a secret');
});

test('another client id of the same application raises the revision, not the activation epoch', async () => {
  await activate('app', 'client-1', 'a secret');
  const { transactionId } = await activate('app', 'client-2');
  expect(await current()).toMatchObject({
    ...{ epoch: 1n, revision: transactionId, sinceEpoch: 1n, clientId: 'client-2', clientSecret: '' },
  });
});

test('a reset raises the activation epoch but not the epoch since which the application has the device', async () => {
  await activate('app', 'client-1');
  const { transactionId } = await world.devices.resetDevice({
    caller: callerOf('app'),
    deviceId: imei(0),
  });
  expect(await current()).toMatchObject({ epoch: 2n, revision: transactionId, sinceEpoch: 1n });
});

test('after a deactivation there is none; the next application’s activation is independent', async () => {
  await activate('app', 'client-1', 'a secret');
  const { transactionId } = await deactivate('app');
  expect(await current()).toMatchObject({ ...none, epoch: 2n, revision: transactionId });
  await activate('other', 'client-3');
  expect(await current()).toMatchObject({ epoch: 3n, applicationId: 'other', sinceEpoch: 3n });
});
