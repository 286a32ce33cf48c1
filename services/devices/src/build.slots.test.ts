import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { devicesFailpoints } from './failpoints.ts';
import { createContractStore, mostUnderWay } from './store/contracts.ts';
import type { ContractDeviceDocument, ContractDocument, DeviceDocument } from './store/documents.ts';
import { atRest, callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const activate = (device: number, key?: string) =>
  world.devices.activateDevice({
    caller: callerOf('app', key),
    deviceId: imei(device),
    clientId: `client-${device}`,
  });
const deactivate = (device: number) =>
  world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(device) });
const contracts = () => world.store.collection<ContractDocument>('contracts');
const devices = () => world.store.collection<DeviceDocument>('devices');
const contract = () => contracts().findOne({ _id: 'app' });
const used = async () => (await world.admin.getContract({ applicationId: 'app' })).contract?.activated;
const store = () =>
  createContractStore(contracts(), world.store.collection<ContractDeviceDocument>('contractDevices'), 60_000);
/** A new contract is counted at once; a test changes the store directly only after that. */
const counted = () =>
  waitFor('the first count', async () => ((await contract())?.recountAtMs ?? 0) > world.nowMs);
const take = (n: number, intentId = `intent-${n}`) => ({
  ...{ id: `take-${n}`, deviceId: imei(n), intentId, atMs: world.nowMs },
});

test("a contract's document is as large after many activations as before the first", async () => {
  await provision(world, { limit: 60, devices: 60 });
  const size = async () => {
    const { changes, freeSlots, ...rest } = (await contract()) ?? {};
    return JSON.stringify(rest).length;
  };
  // The record of the contract's own change lies in it until it is published.
  await atRest(world);
  await counted();
  const before = await size();
  for (let n = 0; n < 60; n += 1) await activate(n);
  expect(await used()).toBe(60);
  expect(await size()).toBe(before);
  for (let n = 0; n < 60; n += 1) await deactivate(n);
  expect(await used()).toBe(0);
  expect(await size()).toBe(before);
});

onEmbedded(
  'an activation examines as many documents with many devices in the contract as with few',
  async () => {
    await provision(world, { limit: 70, devices: 70 });
    // The count examines all devices that are active by then.
    await counted();
    const cost = async (n: number) => {
      // The sweepers examine no documents meanwhile, because nothing is due.
      const before = world.documentsExamined();
      await activate(n);
      let looks = 0;
      await waitFor('rest', async () => {
        looks += 1;
        return (await devices().findOne({ _id: imei(n) }))?.dueAtMs === undefined;
      });
      // Each look examines that device alone.
      return world.documentsExamined() - before - looks;
    };
    await activate(0);
    const few = await cost(1);
    for (let n = 2; n < 69; n += 1) await activate(n);
    expect(Math.abs((await cost(69)) - few)).toBeLessThan(10);
  },
);

test('a take is counted once for an intent, refunded once, and never refunded once confirmed', async () => {
  await provision(world, { limit: 2 });
  await counted();
  const contracts = store();
  expect(await contracts.take('app', take(1, 'intent'))).toEqual({ take: take(1, 'intent') });
  expect(await contracts.take('app', take(2, 'intent'))).toEqual({ take: take(1, 'intent') });
  expect(await used()).toBe(1);
  expect(await Promise.all([1, 2, 3].map(() => contracts.refund('app', 'take-1')))).toEqual([
    true,
    false,
    false,
  ]);
  expect(await used()).toBe(0);
  await contracts.take('app', take(3));
  await contracts.confirm('app', 'take-3');
  expect(await contracts.refund('app', 'take-3')).toBe(false);
  await contracts.refundIntent('app', 'intent-3');
  expect(await used()).toBe(1);
});

test('a return frees its slot once, and nothing before it is finished or once it is canceled', async () => {
  await provision(world, { limit: 2 });
  await counted();
  const contracts = store();
  const entry = (id: string) => ({ id, deviceId: imei(1), slotId: 'take-1', atMs: world.nowMs });
  await contracts.take('app', take(1));
  for (const id of ['r1', 'r2']) expect(await contracts.beginReturn('app', entry(id))).toBe(true);
  expect((await contract())?.takes).toEqual([]);
  expect(await used()).toBe(1);
  await contracts.cancelReturn('app', 'r2');
  await contracts.finishReturn('app', 'r2');
  expect(await used()).toBe(1);
  await Promise.all([1, 2, 3].map(() => contracts.finishReturn('app', 'r1')));
  expect(await used()).toBe(0);
});

test('no more takes are pending at a time than the document has room for; then there is room again', async () => {
  await provision(world, { limit: mostUnderWay + 2 });
  await counted();
  const contracts = store();
  for (let n = 0; n < mostUnderWay; n += 1) await contracts.take('app', take(n));
  expect(await contracts.take('app', take(mostUnderWay))).toBe('busy');
  await contracts.confirm('app', 'take-0');
  expect(await contracts.take('app', take(mostUnderWay))).toMatchObject({
    take: { id: `take-${mostUnderWay}` },
  });
  expect(await used()).toBe(mostUnderWay + 1);
});

test('a raised limit counts at once; a lowered one refuses new devices until enough have gone', async () => {
  await provision(world, { limit: 1, devices: 4 });
  const limit = (activationLimit: number) =>
    world.admin.putContract({ applicationId: 'app', activationLimit });
  const refused = (n: number) => expect(activate(n)).rejects.toMatchObject({ code: 'activation_limit' });
  await activate(0);
  await refused(1);
  await limit(3);
  for (const n of [1, 2]) await activate(n);
  await refused(3);
  await limit(1);
  expect(await used()).toBe(3);
  for (const n of [0, 1]) {
    await deactivate(n);
    await refused(3);
  }
  await deactivate(2);
  await activate(3);
  expect(await used()).toBe(1);
});

test('limits changed while devices come and go: afterwards the count is the devices that have a slot', async () => {
  await provision(world, { limit: 5, devices: 12 });
  const calls = Array.from({ length: 12 }, (_, n) => [
    activate(n).catch(() => {}),
    activate(n).catch(() => {}),
    world.admin.putContract({ applicationId: 'app', activationLimit: 2 + (n % 5) }),
    deactivate(n).catch(() => {}),
  ]);
  await Promise.all(calls.flat());
  await world.admin.putContract({ applicationId: 'app', activationLimit: 5 });
  const active = await devices().countDocuments({ 'activation.applicationId': 'app' });
  expect(await used()).toBe(active);
  expect(await devices().countDocuments({ 'slot.applicationId': 'app' })).toBe(active);
});

test('a slot that a call took after the end of its intent is freed', async () => {
  await provision(world, { limit: 1 });
  await store().take('app', take(1));
  expect(await used()).toBe(1);
  world.nowMs += 60_001;
  await waitFor('the slot to be free', async () => (await used()) === 0);
  expect((await contract())?.takes).toEqual([]);
});

test('a return that a call noted after another one’s return frees nothing', async () => {
  await provision(world, { limit: 2 });
  await activate(0);
  await activate(1);
  const slotId = (await devices().findOne({ _id: imei(0) }))?.slot?.id ?? '';
  await deactivate(0);
  await store().beginReturn('app', { id: 'late', deviceId: imei(0), slotId, atMs: world.nowMs });
  world.nowMs += 60_001;
  await waitFor('the return to be gone', async () => (await contract())?.returns.length === 0);
  expect(await used()).toBe(1);
});

test.each([1, -1])('a count that is wrong by %d is corrected', async (by) => {
  await provision(world, { limit: 3 });
  await activate(0);
  await contracts().updateOne({ _id: 'app' }, { $inc: { freeSlots: by } });
  world.nowMs += 600_001;
  await waitFor('the recount', async () => (await used()) === 1);
});

// The worst case: a crash at every step, among concurrent calls of the same and of other devices.
test.each(devicesFailpoints.filter((name) => !/reports|lifecycle|reset/.test(name)))(
  'with a crash at %s during many calls the limit holds, and afterwards the count equals the devices’ slots',
  async (point) => {
    const limit = 4;
    await provision(world, { limit, devices: 8 });
    const active = () => devices().countDocuments({ 'activation.applicationId': 'app' });
    let cuts = 0;
    for (let round = 0; round < 4; round += 1) {
      world.cutAt = point;
      const calls = Array.from({ length: 24 }, (_, n) => {
        const device = (Math.floor(n / 2) * 3 + round) % 8;
        const key = n % 3 === 0 ? `key-${round}-${device}` : undefined;
        const undo = ({ transactionId }: { transactionId: bigint }) =>
          world.devices.undoActivation({ deviceId: imei(device), transactionId });
        // Every other activation is canceled (ADR 0063).
        const activated = () => (n % 4 === 0 ? activate(device, key).then(undo) : activate(device, key));
        const call: Promise<unknown> = n % 2 === 0 ? activated() : deactivate(device);
        return call.catch(() => {}).then(async () => expect(await active()).toBeLessThanOrEqual(limit));
      });
      await Promise.all(calls);
      if (world.cutAt === undefined) cuts += 1;
      world.nowMs += 60_001;
      await waitFor('nothing under way', async () => {
        const { takes = [], returns = [] } = (await contract()) ?? {};
        const owing = await devices().countDocuments({ dueAtMs: { $exists: true } });
        return takes.length + returns.length + owing === 0;
      });
      const count = await active();
      expect([await used(), await devices().countDocuments({ 'slot.applicationId': 'app' })]).toEqual([
        count,
        count,
      ]);
    }
    expect(cuts).toBeGreaterThan(0);
  },
);
