import { generateKeyPairSync } from 'node:crypto';
import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

const caller = callerOf('app');
const hourMs = 3_600_000;
const deviceId = imei(0);
let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world, { limit: 5, devices: 3 });
});
afterEach(() => world.close());

const pem = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .publicKey.export({ format: 'pem', type: 'spki' })
    .toString();

async function add(name = '', id = deviceId): Promise<string> {
  return (await world.admin.addHeadsetKey({ deviceId: id, publicKeyPem: pem(), name })).keyId;
}

const list = async () => (await world.admin.listHeadsetKeys({ deviceId })).keys;

// protects against headsets/weak-key
test('a device has at most two keys, so that a key can be replaced without a gap; a third key is rejected', async () => {
  const first = await add('at the factory');
  const createdAtMs = BigInt(world.nowMs);
  world.nowMs += 1000;
  const second = await add();
  await expect(add()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('has 2 keys'),
  });
  expect(await list()).toMatchObject([
    { keyId: first, name: 'at the factory', createdAtMs, lastUsedAtMs: 0n },
    { keyId: second, name: '', createdAtMs: createdAtMs + 1000n },
  ]);
  await world.admin.removeHeadsetKey({ deviceId, keyId: first });
  await add();
  await expect(world.admin.listHeadsetKeys({ deviceId: imei(9) })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('a name is a text of 1 to 100 characters', async () => {
  await expect(add('x'.repeat(101))).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('a check returns the keys that are not registered, and stores the use of the others once an hour', async () => {
  const keyId = await add();
  const check = async () =>
    (
      await world.keys.checkHeadsetKeys({
        keys: [
          { deviceId, keyId },
          { deviceId, keyId: 'none' },
          { deviceId: imei(9), keyId },
        ],
      })
    ).removed;
  const usedAtMs = BigInt(world.nowMs);
  expect(await check()).toEqual([1, 2]);
  expect((await list())[0]?.lastUsedAtMs).toBe(usedAtMs);
  world.nowMs += hourMs - 1;
  await check();
  expect((await list())[0]?.lastUsedAtMs).toBe(usedAtMs);
  world.nowMs += 1;
  await check();
  expect((await list())[0]?.lastUsedAtMs).toBe(usedAtMs + BigInt(hourMs));

  await world.admin.removeHeadsetKey({ deviceId, keyId });
  expect(await check()).toEqual([0, 1, 2]);
  const tooMany = world.keys.checkHeadsetKeys({ keys: Array.from({ length: 1001 }, () => ({ deviceId })) });
  await expect(tooMany).rejects.toMatchObject({ code: 'invalid_argument' });
});

test('the uses of many keys that are checked together are stored over several checks', async () => {
  await provision(world, { limit: 50, devices: 40 });
  const ids = Array.from({ length: 40 }, (_, i) => imei(i));
  const keys = await Promise.all(ids.map(async (id) => ({ deviceId: id, keyId: await add('', id) })));
  const noted = async () => {
    const all = await Promise.all(ids.map((id) => world.admin.listHeadsetKeys({ deviceId: id })));
    return all.flatMap(({ keys }) => keys).filter(({ lastUsedAtMs }) => lastUsedAtMs > 0n).length;
  };
  const counts: number[] = [];
  for (let check = 0; check < 5; check++) {
    await world.keys.checkHeadsetKeys({ keys });
    counts.push(await noted());
  }
  expect(counts).toEqual([10, 20, 30, 40, 40]);
});

test('a check returns the devices that lost a key in the last minute, latest first, if requested', async () => {
  const recent = async () =>
    (await world.keys.checkHeadsetKeys({ keys: [], withRecent: true })).recentDeviceIds;
  const keyIds = [await add(), await add('', imei(1))];
  await add('', imei(2));
  expect(await recent()).toEqual([]);
  await world.admin.removeHeadsetKey({ deviceId, keyId: keyIds[0] });
  world.nowMs += 30_000;
  await world.admin.removeHeadsetKey({ deviceId: imei(1), keyId: keyIds[1] });
  expect(await recent()).toEqual([imei(1), deviceId]);
  expect((await world.keys.checkHeadsetKeys({ keys: [] })).recentDeviceIds).toEqual([]);
  world.nowMs += 30_001;
  expect(await recent()).toEqual([imei(1)]);
  // A process with a slow clock does not hide a later removal.
  const again = await add('', imei(1));
  world.nowMs -= 45_000;
  await world.admin.removeHeadsetKey({ deviceId: imei(1), keyId: again });
  world.nowMs += 45_000;
  expect(await recent()).toEqual([imei(1)]);
});

test('a key that release 0.1.0 has registered is listed, checked and removed', async () => {
  await world.store
    .collection<{ _id: string; keys: object[] }>('devices')
    .updateOne({ _id: deviceId }, { $set: { keys: [{ keyId: 'old', publicKeyPem: pem() }] } });
  expect(await list()).toMatchObject([{ keyId: 'old', name: '', createdAtMs: 0n, lastUsedAtMs: 0n }]);
  expect((await world.keys.checkHeadsetKeys({ keys: [{ deviceId, keyId: 'old' }] })).removed).toEqual([]);
  await world.admin.removeHeadsetKey({ deviceId, keyId: 'old' });
  expect(await list()).toEqual([]);
});

test('all keys of a device, or of the devices that an application has activated, are removed', async () => {
  const keys = [await add(), await add()];
  const other = await add('', imei(1));
  await add('', imei(2));
  for (const n of [0, 1]) {
    await world.devices.activateDevice({ caller, deviceId: imei(n), clientId: `c${n}` });
  }
  const of = { case: 'applicationId', value: 'app' } as const;
  const all = [
    { deviceId, keyIds: keys },
    { deviceId: imei(1), keyIds: [other] },
  ];
  expect((await world.admin.removeAllHeadsetKeys({ of, dryRun: true })).devices).toMatchObject(all);
  expect(await list()).toHaveLength(2);
  expect((await world.admin.removeAllHeadsetKeys({ of })).devices).toMatchObject(all);
  expect(await list()).toEqual([]);
  // No application has activated the third device.
  expect((await world.admin.listHeadsetKeys({ deviceId: imei(2) })).keys).toHaveLength(1);
  const ofDevice = { case: 'deviceId', value: imei(2) } as const;
  expect((await world.admin.removeAllHeadsetKeys({ of: ofDevice })).devices).toHaveLength(1);
  expect((await world.admin.listHeadsetKeys({ deviceId: imei(2) })).keys).toEqual([]);

  await expect(world.admin.removeAllHeadsetKeys({})).rejects.toMatchObject({ code: 'invalid_argument' });
  const nobody = world.admin.removeAllHeadsetKeys({ of: { case: 'applicationId', value: 'none' } });
  await expect(nobody).rejects.toMatchObject({ code: 'not_found' });
});

test('keys are listed of all devices that an application has activated, in pages', async () => {
  const ids = Array.from({ length: 101 }, (_, n) => imei(n));
  await world.admin.putContract({ applicationId: 'app', activationLimit: 200, addDeviceIds: ids });
  const keyId = await add('at the factory');
  for (const id of ids) await world.devices.activateDevice({ caller, deviceId: id, clientId: `c${id}` });
  await world.keys.checkHeadsetKeys({ keys: [{ deviceId, keyId }] });
  const first = await world.admin.listHeadsetKeys({ applicationId: 'app' });
  expect(first.devices.map((one) => one.deviceId)).toEqual(ids.slice(0, 100));
  expect(first.devices[0]?.keys).toMatchObject([
    { keyId, name: 'at the factory', lastUsedAtMs: BigInt(world.nowMs) },
  ]);
  expect(first.keys).toEqual([]);
  const next = { applicationId: 'app', afterDeviceId: first.nextAfterDeviceId };
  expect(await world.admin.listHeadsetKeys(next)).toMatchObject({
    ...{ devices: [{ deviceId: ids[100], keys: [] }], nextAfterDeviceId: '' },
  });
  const both = world.admin.listHeadsetKeys({ deviceId, applicationId: 'app' });
  await expect(both).rejects.toMatchObject({ code: 'invalid_argument' });
  const nobody = world.admin.listHeadsetKeys({ applicationId: 'none' });
  await expect(nobody).rejects.toMatchObject({ code: 'not_found' });
});

// protects against headsets/shared-key
describe('a key that another device has', () => {
  const publicKeyPem = pem();
  const addTo = (id: string) => world.admin.addHeadsetKey({ deviceId: id, publicKeyPem });
  const refusedFor = (owner: string) => ({
    code: 'conflict',
    message: expect.stringContaining(`The device ${owner} has this key`),
  });
  const keysOf = async (id: string) =>
    (await world.admin.listHeadsetKeys({ deviceId: id })).keys.map(({ keyId }) => keyId);

  test('is rejected until it is removed from that device; the same device may get it again', async () => {
    const { keyId } = await addTo(deviceId);
    await expect(addTo(imei(1))).rejects.toMatchObject(refusedFor(deviceId));
    expect(await keysOf(imei(1))).toEqual([]);
    expect(await addTo(deviceId)).toMatchObject({ keyId });
    await world.admin.removeHeadsetKey({ deviceId, keyId });
    await addTo(imei(1));
    await expect(addTo(deviceId)).rejects.toMatchObject(refusedFor(imei(1)));
    expect(await keysOf(deviceId)).toEqual([]);
  });

  test('is never registered for two devices by concurrent calls', async () => {
    for (let round = 0; round < 20; round += 1) {
      const ids = [0, 1, 2].map(imei);
      const done = await Promise.allSettled(ids.map(addTo));
      const holders = (await Promise.all(ids.map(keysOf))).flatMap((keys, n) => (keys.length > 0 ? [n] : []));
      expect(holders.length).toBeLessThanOrEqual(1);
      expect(done.flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : []))).toEqual(holders);
      for (const n of holders) {
        const [keyId] = await keysOf(imei(n));
        await world.admin.removeHeadsetKey({ deviceId: imei(n), keyId });
      }
    }
  });

  test('stays registered for two devices of release 0.1.0, until it is removed from one', async () => {
    const { keyId } = await addTo(deviceId);
    const keys = [{ keyId, publicKeyPem }];
    await world.store
      .collection<{ _id: string; keys: object[] }>('devices')
      .updateOne({ _id: imei(1) }, { $set: { keys } });
    await expect(addTo(deviceId)).rejects.toMatchObject(refusedFor(imei(1)));
    expect(await Promise.all([deviceId, imei(1)].map(keysOf))).toEqual([[keyId], [keyId]]);
  });
});
