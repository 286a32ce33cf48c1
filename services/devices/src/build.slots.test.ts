import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { recordOf } from '@headset-cloud/rules/audit/record.ts';
import type { DomainError } from '@headset-cloud/runtime/errors.ts';
import { activateDevice } from './activation/activate.ts';
import type { ContractDocument, DeviceDocument } from './store/documents.ts';
import { activationDependencies } from './testing/activation.ts';
import {
  atRest,
  callerOf,
  imei,
  openWorld,
  provision,
  recordsPublished,
  type World,
} from './testing/world.ts';

/** Slots of a contract (ADR 0011, rule B8). */

let world: World;
afterEach(() => world.close());

const activate = (device: number, { key, name = 'app' }: { key?: string; name?: string } = {}) =>
  world.devices.activateDevice({
    caller: callerOf(name, key),
    deviceId: imei(device),
    clientId: `client-${name}-${device}`,
  });
const deactivate = (device: number, name = 'app') =>
  world.devices.deactivateDevice({ caller: callerOf(name), deviceId: imei(device) });
const limit = (activationLimit: number) => world.admin.putContract({ applicationId: 'app', activationLimit });
const devices = () => world.store.collection<DeviceDocument>('devices');
const used = async () => (await world.admin.getContract({ applicationId: 'app' })).contract?.activated;
const numbers = async () => {
  const found = await devices().find({ 'activation.applicationId': 'app' }).toArray();
  return found.map(({ activation }) => activation?.slot).sort((a = -1, b = -1) => a - b);
};
const full = { code: 'activation_limit', message: 'not contracted or activation limit exceeded.' };
/** Returns the outcome of a call. */
const end = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: DomainError) => error.code,
  );
const ends = async (calls: Promise<unknown>[]) => {
  const all = await Promise.all(calls.map(end));
  return {
    ok: all.filter((one) => one === 'ok').length,
    full: all.filter((one) => one === full.code).length,
  };
};
const times = (count: number) => Array.from({ length: count }, (_, n) => n);
/** Activates the device like release 0.1.0: without a slot number. */
const withoutNumber = (device: number) =>
  devices().updateOne({ _id: imei(device) }, { $unset: { 'activation.slot': '' } });

describe('by calls alone', () => {
  beforeEach(async () => {
    // A long interval, so that the sweeper does nothing.
    world = await openWorld({ DEVICES_SWEEP_INTERVAL_MS: 3_600_000 });
  });

  test('of sixty concurrent activations exactly as many succeed as the contract has slots', async () => {
    await provision(world, { limit: 25, devices: 60 });
    expect(await ends(times(60).map((n) => activate(n)))).toEqual({ ok: 25, full: 35 });
    expect(await numbers()).toEqual(times(25));
  });

  test('the slots of ended activations are taken by exactly as many of many concurrent calls', async () => {
    await provision(world, { limit: 12, devices: 40 });
    for (const n of times(12)) await activate(n);
    await Promise.all([1, 4, 5, 9].map((n) => deactivate(n)));
    expect(await ends(times(20).map((n) => activate(20 + n)))).toEqual({ ok: 4, full: 16 });
    expect(await numbers()).toEqual(times(12));
  });

  test('a higher limit takes effect at once; a lower limit rejects new devices until enough devices are deactivated', async () => {
    await provision(world, { limit: 1, devices: 4 });
    const refused = (n: number) => expect(activate(n)).rejects.toMatchObject(full);
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

  test('after the limit was lowered, no more of many concurrent calls succeed than it allows', async () => {
    await provision(world, { limit: 20, devices: 40 });
    for (const n of times(20)) await activate(n);
    await limit(6);
    // Four devices remain, with the numbers 16 to 19.
    for (const n of times(16)) await deactivate(n);
    expect(await ends(times(15).map((n) => activate(20 + n)))).toEqual({ ok: 2, full: 13 });
    expect(await numbers()).toEqual(times(6));
  });

  test('devices that release 0.1.0 activated use slots, and get numbers before another device does', async () => {
    await provision(world, { limit: 5, devices: 20 });
    for (const n of times(4)) await activate(n);
    for (const n of times(4)) await withoutNumber(n);
    expect(await used()).toBe(4);
    expect(await ends(times(10).map((n) => activate(10 + n)))).toEqual({ ok: 1, full: 9 });
    expect(await numbers()).toEqual(times(5));
    await withoutNumber(0);
    await expect(activate(0)).resolves.toBeDefined();
    await limit(2);
    await expect(activate(15)).rejects.toMatchObject(full);
    await deactivate(0);
    expect(await used()).toBe(4);
  });

  test('the contract makes release 0.1.0 count again', async () => {
    await provision(world);
    const contracts = world.store.collection<ContractDocument>('contracts');
    const contract = () => contracts.findOne({ _id: 'app' });
    expect(await contract()).toMatchObject({ takes: [], returns: [], freeSlots: 0 });
    for (const change of [() => activate(0), () => deactivate(0), () => limit(4)]) {
      await contracts.updateOne({ _id: 'app' }, { $set: { checkAtMs: 1, recountAtMs: 1 } });
      const { changes = 0 } = (await contract()) ?? {};
      await change();
      expect(await contract()).toMatchObject({ checkAtMs: 0, recountAtMs: 0, changes: changes + 1 });
    }
    await activate(1);
    expect(await devices().countDocuments({ 'slot.applicationId': 'app' })).toBe(1);
  });

  test('the slot of an interrupted deactivation is free at once', async () => {
    await provision(world, { limit: 1 });
    await activate(0);
    world.cutAt = 'after store devices.devices.activation';
    await expect(deactivate(0)).rejects.toMatchObject({ code: 'internal' });
    await activate(1);
    await expect(activate(0)).rejects.toMatchObject(full);
    expect(await used()).toBe(1);
  });

  test('a call that is rejected for its client id never takes a slot', async () => {
    await provision(world, { limit: 2, devices: 3 });
    for (let round = 0; round < 20; round += 1) {
      const sameClient = [0, 1].map((n) =>
        end(world.devices.activateDevice({ caller: callerOf('app'), deviceId: imei(n), clientId: 'same' })),
      );
      const [one, other, third] = await Promise.all([...sameClient, end(activate(2))]);
      expect([third, [one, other].includes('ok')]).toEqual(['ok', true]);
      await deactivate(2);
      await deactivate(one === 'ok' ? 0 : 1);
    }
  });

  test('a call is not rejected if a faster call for the same device took the last slot', async () => {
    await provision(world, { limit: 1 });
    const deps = activationDependencies(world);
    let faster: Promise<unknown> | undefined;
    await activateDevice(
      {
        ...deps,
        contracts: {
          ...deps.contracts,
          // The device has been read. Now another call activates it.
          async ofDevice(...of) {
            faster ??= activate(0);
            await faster;
            return deps.contracts.ofDevice(...of);
          },
        },
      },
      {
        ...{ applicationId: 'app', deviceId: imei(0), transactionId: 5000, clientId: 'later' },
        record: recordOf(1, { deviceId: imei(0) }),
      },
    );
    expect((await devices().findOne({ _id: imei(0) }))?.activation?.clientId).toBe('later');
    expect(await used()).toBe(1);
  });

  onEmbedded('an activation and a rejection cost the same with many devices as with few', async () => {
    const cost = async (call: () => Promise<unknown>) => {
      await recordsPublished(world);
      const before = world.documentsExamined();
      await end(call());
      return world.documentsExamined() - before;
    };
    const costs = async (name: string, count: number) => {
      await provision(world, { name, limit: count, devices: count + 1 });
      for (let n = 0; n < count - 1; n += 1) await activate(n, { name });
      const activation = await cost(() => activate(count - 1, { name }));
      // Measure the first rejection.
      await expect(activate(count, { name })).rejects.toMatchObject(full);
      const refusal = await cost(() => activate(count, { name }));
      for (let n = 0; n < count; n += 1) await deactivate(n, name);
      return { activation, refusal };
    };
    const few = await costs('few', 3);
    const many = await costs('many', 150);
    expect(many.refusal).toBe(few.refusal);
    expect(few.refusal).toBeLessThan(10);
    expect(Math.abs(many.activation - few.activation)).toBeLessThan(10);
  });
});

describe('with the sweeper', () => {
  beforeEach(async () => {
    world = await openWorld();
  });

  test('after changes of limits during activations and deactivations no two devices have the same slot', async () => {
    await provision(world, { limit: 5, devices: 12 });
    const calls = times(12).map((n) => [
      activate(n).catch(() => {}),
      activate(n).catch(() => {}),
      limit(2 + (n % 5)),
      deactivate(n).catch(() => {}),
    ]);
    await Promise.all(calls.flat());
    expect(new Set(await numbers()).size).toBe((await used()) ?? -1);
  });

  // The worst case: a crash at every step, among concurrent calls of the same and of other devices.
  test.each([
    'after store devices.devices.activation',
    'before rpc devices.CreateTransaction',
    'after rpc devices.CreateTransaction',
    'after store devices.devices.pending 2',
    'after store devices.devices.undo',
    'after store devices.devices 10',
    'after store devices.contracts 5',
  ])(
    'with a crash %s during many calls the limit holds, and afterwards all other slots are free',
    async (point) => {
      const most = 4;
      await provision(world, { limit: most, devices: 12 });
      const active = () => devices().countDocuments({ 'activation.applicationId': 'app' });
      let cuts = 0;
      for (let round = 0; round < 4; round += 1) {
        world.cutAt = point;
        const calls = times(24).map((n) => {
          const device = (Math.floor(n / 2) * 3 + round) % 8;
          const key = n % 3 === 0 ? `key-${round}-${device}` : undefined;
          const undo = ({ transactionId }: { transactionId: bigint }) =>
            world.devices.undoActivation({ deviceId: imei(device), transactionId });
          const activation = () => activate(device, key === undefined ? {} : { key });
          // Every other activation is canceled (ADR 0063).
          const activated = () => (n % 4 === 0 ? activation().then(undo) : activation());
          const call: Promise<unknown> = n % 2 === 0 ? activated() : deactivate(device);
          return call.catch(() => {}).then(async () => expect(await active()).toBeLessThanOrEqual(most));
        });
        await Promise.all(calls);
        if (world.cutAt === undefined) cuts += 1;
        world.nowMs += 60_001;
        await atRest(world);
        const left = most - (await active());
        expect(await ends([8, 9, 10, 11].map((n) => activate(n)))).toEqual({ ok: left, full: 4 - left });
        await Promise.all([8, 9, 10, 11].map((n) => end(deactivate(n))));
      }
      expect(cuts).toBeGreaterThan(0);
    },
  );
});
