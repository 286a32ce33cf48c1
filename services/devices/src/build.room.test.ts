import { randomUUID } from 'node:crypto';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { recordOf } from '@headset-cloud/kit/audit/record.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { noFailpoints } from '@headset-cloud/kit/failpoints.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { createClient } from '@headset-cloud/kit/rpc/types.ts';
import { createSecretBox } from '@headset-cloud/kit/secrets.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { activateDevice } from './activation/activate.ts';
import { createActivationStore } from './store/activations.ts';
import { createApplicationStore } from './store/applications.ts';
import { createContractStore } from './store/contracts.ts';
import type {
  ApplicationDocument,
  ContractDeviceDocument,
  ContractDocument,
  DeviceDocument,
} from './store/documents.ts';
import { callerOf, imei, openWorld, provision, recordsPublished, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  // The sweepers do nothing, so that only calls finish what was left.
  world = await openWorld({ DEVICES_SWEEP_INTERVAL_MS: 3_600_000 });
});
afterEach(() => world.close());

const activate = (device: number, key?: string, application = 'app') =>
  world.devices.activateDevice({
    caller: callerOf(application, key),
    deviceId: imei(device),
    clientId: `client-${application}-${device}`,
  });
const deactivate = (device: number) =>
  world.devices.deactivateDevice({ caller: callerOf('app'), deviceId: imei(device) });
/** A call that dies at the failpoint. */
const cut = async (point: string, call: () => Promise<unknown>) => {
  world.cutAt = point;
  await expect(call()).rejects.toMatchObject({ code: 'internal' });
};
const devices = () => world.store.collection<DeviceDocument>('devices');
const contracts = () => world.store.collection<ContractDocument>('contracts');
const used = async () => (await world.admin.getContract({ applicationId: 'app' })).contract?.activated;
const underWay = async () => {
  const { takes = [], returns = [] } = (await contracts().findOne({ _id: 'app' })) ?? {};
  return takes.length + returns.length;
};
const store = () =>
  createContractStore(contracts(), world.store.collection<ContractDeviceDocument>('contractDevices'), 60_000);
/** How a call ends. */
const end = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: DomainError) => error.code,
  );
const full = { code: 'activation_limit', message: 'not contracted or activation limit exceeded.' };
const moving = { code: 'unavailable', retryAfterMs: 1000 };

describe.each(['devices.deactivated', 'devices.returning', 'devices.given-back'])(
  'the slot of a deactivation that died at %s',
  (point) => {
    test.each([
      ['another device', 1],
      ['the same device', 0],
    ])('goes to %s; then the contract is full', async (_, next) => {
      await provision(world, { limit: 1, devices: 3 });
      await activate(0);
      await cut(point, () => deactivate(0));
      await activate(next);
      await expect(activate(2)).rejects.toMatchObject(full);
      expect([await used(), await underWay()]).toEqual([1, 0]);
    });

    test('goes to one of many calls at once, which all end; the others are refused for good', async () => {
      await provision(world, { limit: 1, devices: 9 });
      await activate(0);
      await cut(point, () => deactivate(0));
      const ends = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => end(activate(n))));
      expect(ends.sort()).toEqual([...Array.from({ length: 7 }, () => 'activation_limit'), 'ok']);
      expect([await used(), await underWay()]).toEqual([1, 0]);
    });
  },
);

test('slots of more dead deactivations than one look handles are all found', async () => {
  await provision(world, { limit: 20, devices: 40 });
  for (let n = 0; n < 20; n += 1) await activate(n);
  for (let n = 0; n < 20; n += 1) await cut('devices.deactivated', () => deactivate(n));
  for (let n = 20; n < 40; n += 1) await activate(n);
  await expect(activate(0)).rejects.toMatchObject(full);
  expect([await used(), await underWay()]).toEqual([20, 0]);
});

test('a slot that was taken after the end of its intent is free for the next call', async () => {
  await provision(world, { limit: 1 });
  await store().take('app', { id: 'late', deviceId: imei(1), intentId: 'over', atMs: world.nowMs });
  await activate(0);
  expect([await used(), await underWay()]).toEqual([1, 0]);
});

test('a slot of a dead activation: 503 while its intent may live, then it goes to the next call', async () => {
  await provision(world, { limit: 1 });
  await cut('devices.reserved', () => activate(0, 'key'));
  await expect(activate(1)).rejects.toMatchObject(moving);
  expect((await devices().findOne({ _id: imei(1) }))?.intent).toBeUndefined();
  world.nowMs += 10_001;
  await activate(1);
  await expect(activate(0, 'key')).rejects.toMatchObject(full);
  expect([await used(), await underWay()]).toEqual([1, 0]);
});

test('a call that waits for the last slot is refused once its activation has succeeded', async () => {
  await provision(world, { limit: 1 });
  await cut('devices.reserved', () => activate(0, 'key'));
  const waiting = end(activate(1));
  await activate(0, 'key');
  expect(await waiting).toBe('activation_limit');
  expect([await used(), await underWay()]).toEqual([1, 0]);
});

test('a call that waits for the last slot gets it when its intent expires', async () => {
  await provision(world, { limit: 1 });
  await cut('devices.reserved', () => activate(0));
  const waiting = end(activate(1));
  world.nowMs += 10_001;
  expect(await waiting).toBe('ok');
  expect([await used(), await underWay()]).toEqual([1, 0]);
});

test('a call is not refused for a slot that another call takes and, being refused, frees', async () => {
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

test('an intent that a clock far ahead wrote makes 503, never a final refusal', async () => {
  await provision(world, { limit: 1 });
  world.nowMs += 3_600_000;
  await cut('devices.reserved', () => activate(0));
  world.nowMs -= 3_600_000;
  await expect(activate(1)).rejects.toMatchObject(moving);
});

test('a call whose clock is ahead takes the slot of an activation that lives: one of the two has it', async () => {
  await provision(world, { limit: 1 });
  await cut('devices.reserved', () => activate(0, 'key'));
  world.nowMs += 3_600_000;
  await activate(1);
  world.nowMs -= 3_600_000;
  await expect(activate(0, 'key')).rejects.toMatchObject(full);
  expect([await used(), await underWay()]).toEqual([1, 0]);
});

test('while owed work cannot be finished the refusal is not final', async () => {
  await provision(world, { limit: 1 });
  world.transactions.failure = new DomainError('unavailable', 'away');
  await expect(activate(0)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(deactivate(0)).rejects.toMatchObject({ code: 'unavailable' });
  await expect(activate(1)).rejects.toMatchObject({ code: 'unavailable' });
  world.transactions.failure = undefined;
  await activate(1);
  expect([await used(), await underWay()]).toEqual([1, 0]);
});

test('a limit lowered below the slots in use refuses for good, with owed slots too', async () => {
  await provision(world, { limit: 3, devices: 4 });
  for (const n of [0, 1, 2]) await activate(n);
  await world.admin.putContract({ applicationId: 'app', activationLimit: 1 });
  await cut('devices.given-back', () => deactivate(0));
  await expect(activate(3)).rejects.toMatchObject(full);
  expect([await used(), await underWay()]).toEqual([2, 0]);
});

test('a call is not refused because another call of its device was faster and has the last slot', async () => {
  await provision(world, { limit: 1 });
  const documents = devices();
  const clock = { now: () => world.nowMs };
  const activations = createActivationStore(documents, clock, 10_000);
  const applications = world.store.collection<ApplicationDocument>('applications');
  const contractStore = store();
  await activateDevice(
    {
      devices: activations,
      contracts: {
        ...contractStore,
        // The device has been read; now another call activates it.
        async standing(...of) {
          await activate(0);
          return contractStore.standing(...of);
        },
      },
      applications: createApplicationStore(applications, createSecretBox('s'.repeat(32))),
      transactions: createClient(TransactionsService, world.channel),
      openClientSecret: () => '',
      lifecycle: { publish: async () => {}, begin: () => {}, drain: async () => {} },
      failpoints: noFailpoints,
      logger: createLogger({ service: 'devices', level: 'silent' }),
      ...{ clock, newId: randomUUID, intentMs: 10_000 },
    },
    {
      ...{ applicationId: 'app', deviceId: imei(0), transactionId: 5000, clientId: 'later' },
      record: recordOf(1, { deviceId: imei(0) }),
    },
  );
  expect((await documents.findOne({ _id: imei(0) }))?.activation?.clientId).toBe('later');
  expect([await used(), await underWay()]).toEqual([1, 0]);
});

test('a device outside the contract is refused without a look at the slots', async () => {
  await provision(world, { limit: 1 });
  await activate(0);
  await cut('devices.given-back', () => deactivate(0));
  await expect(activate(99)).rejects.toMatchObject(full);
  expect(await underWay()).toBe(1);
});

onEmbedded('a full contract refuses at once, for the same cost with many devices as with few', async () => {
  const cost = async (name: string, devices: number) => {
    await provision(world, { name, limit: devices - 1, devices });
    for (let n = 0; n < devices - 1; n += 1) await activate(n, undefined, name);
    await waitFor('rest', async () => (await contracts().findOne({ _id: name }))?.takes.length === 0);
    await recordsPublished(world);
    const before = world.documentsExamined();
    await expect(activate(devices - 1, undefined, name)).rejects.toMatchObject(full);
    return world.documentsExamined() - before;
  };
  const few = await cost('few', 3);
  for (let n = 0; n < 2; n += 1) {
    await world.devices.deactivateDevice({ caller: callerOf('few'), deviceId: imei(n) });
  }
  expect(await cost('many', 60)).toBe(few);
  expect(few).toBeLessThan(10);
});
