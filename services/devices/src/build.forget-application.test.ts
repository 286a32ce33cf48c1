import { fromBinary } from '@bufbuild/protobuf';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import type { ForgetApplicationRequest } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import { recordOf } from '@headset-cloud/rules/audit/record.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { activateDevice } from './activation/activate.ts';
import { applicationForgetHandler } from './admin/forget-application.ts';
import {
  type ApplicationDocument,
  type ContractDeviceDocument,
  type ContractDocument,
  collections,
  type DeviceDocument,
} from './store/documents.ts';
import { createApplicationForgetStore } from './store/forget-application.ts';
import { createSlotStore } from './store/slots.ts';
import { activationDependencies } from './testing/activation.ts';
import { atRest, callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

/** Forgetting an application (ADR 0047). */

const applicationId = 'app';
const deviceId = imei(0);
const caller = callerOf(applicationId);
let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
  await provision(world, { name: 'another' });
});
afterEach(() => world.close());

const forget = (more: { run?: string; dryRun?: boolean; applicationId?: string; reference?: string } = {}) =>
  world.admin.forgetApplication({ applicationId, reference: 'REQUEST-18', run: 'run', ...more });
const forgottenCounts = async (more: { run?: string; dryRun?: boolean } = {}) =>
  Object.fromEntries((await forget(more)).forgotten.map(({ what, removed }) => [what, removed]));
const stored = (_id: string = applicationId) =>
  world.store.collection<ApplicationDocument>(collections.applications).findOne({ _id });
const contract = (_id: string = applicationId) =>
  world.store.collection<ContractDocument>(collections.contracts).findOne({ _id });
const named = (of: string = applicationId) =>
  world.store
    .collection<ContractDeviceDocument>(collections.contractDevices)
    .countDocuments({ applicationId: of });
const recordsPublished = () =>
  waitFor('the records', async () =>
    (await Promise.all([stored(), stored('another'), contract(), contract('another')])).every(
      (one) => one?.auditAtMs === undefined,
    ),
  );
const all = {
  ...{ settings: 1, 'authentication keys': 1, 'name and owner': 1, 'limits of its contract': 1 },
  'IMEIs of its contract': 3,
};

test('all personal and secret data is removed, other applications stay unchanged; a second run removes nothing', async () => {
  await recordsPublished();
  const another = [await stored('another'), await contract('another')];
  const before = [await stored(), await contract()];
  expect(await forgottenCounts({ dryRun: true })).toEqual(all);
  expect([await stored(), await contract()]).toEqual(before);
  expect(await forgottenCounts()).toEqual(all);
  expect(await stored()).toEqual(
    expect.objectContaining({ _id: applicationId, settings: {}, name: '', recentChanges: [] }),
  );
  expect(await stored()).toHaveProperty('forgottenAtMs', world.nowMs);
  for (const gone of ['authenticationKey', 'developerId']) expect(await stored()).not.toHaveProperty(gone);
  expect(await contract()).toMatchObject({ activationLimit: 0, closed: true });
  expect([await named(), await named('another')]).toEqual([0, 3]);
  expect([await stored('another'), await contract('another')]).toEqual(another);
  world.nowMs += 1000;
  expect(Object.values(await forgottenCounts({ run: 'again' })).every((count) => count === 0)).toBe(true);
  // The time of forgetting has not changed.
  expect(await stored()).toHaveProperty('forgottenAtMs', world.nowMs - 1000);
});

test('an application with a device, or with an unpublished deactivation, is rejected and keeps all data', async () => {
  await world.devices.activateDevice({ caller, deviceId, clientId: 'c' });
  await expect(forget()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('has 1 devices activated'),
  });
  world.cutAt = 'after store devices.devices.activation';
  await expect(world.devices.deactivateDevice({ caller, deviceId })).rejects.toBeDefined();
  await expect(forget()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('Try again in a minute'),
  });
  expect(await stored()).toMatchObject({ settings: { deviceEvent: 'https://example.com/events' } });
  world.cutAt = undefined;
  // The sweeper continues the interrupted work.
  world.nowMs += 60_000;
  await waitFor('the work to be done', async () => {
    const found = await world.store
      .collection<DeviceDocument>(collections.devices)
      .findOne({ _id: deviceId });
    return found?.pending.length === 0 && (found.lifecycle ?? []).length === 0;
  });
  expect(await forgottenCounts()).toMatchObject({ settings: 1 });
});

test('an application whose device is activated concurrently stays unchanged', async () => {
  const forgetting = createApplicationForgetStore({
    applications: world.store.collection(collections.applications),
    contracts: world.store.collection(collections.contracts),
    contractDevices: world.store.collection(collections.contractDevices),
    devices: world.store.collection(collections.devices),
  });
  const seen = await forgetting.traces(applicationId);
  expect(seen).toMatchObject({ activated: 0, unsettled: false });
  await world.devices.activateDevice({ caller, deviceId, clientId: 'c' });
  const { contractChanges } = seen ?? {};
  const record = recordOf(world.nowMs, { applicationId });
  const change = { contractChanges, run: 'run', nowMs: world.nowMs };
  expect(await forgetting.forget(applicationId, change, record)).toBe(false);
  expect(await stored()).toMatchObject({ settings: { deviceEvent: 'https://example.com/events' } });
  expect(await contract()).toMatchObject({ activationLimit: 10 });
});

test('an activation that comes after the application was forgotten is undone', async () => {
  const slots = createSlotStore(world.store.collection<DeviceDocument>(collections.devices));
  await activateDevice(
    {
      ...activationDependencies(world),
      slots: {
        ...slots,
        // The contract and the application have been read; now the application is forgotten.
        async free(...of) {
          const free = await slots.free(...of);
          await forget();
          return free;
        },
      },
    },
    {
      ...{ applicationId, deviceId, transactionId: 5000, clientId: 'c' },
      record: recordOf(1, { deviceId }),
    },
  );
  world.nowMs += 60_001;
  await atRest(world);
  expect(await world.devices.getActivation({ applicationId, deviceId })).toMatchObject({ activated: false });
  expect(world.transactions.ended).toEqual([[deviceId, 2]]);
});

test('a concurrent change of its contract does not prevent it', async () => {
  let tries = 0;
  const { forgetApplication } = applicationForgetHandler({
    forgettingApplications: {
      traces: async () => ({
        ...{ settings: 1, authenticationKeys: 1, names: 1, contracts: 1, activated: 0, unsettled: false },
        contractChanges: tries,
      }),
      forget: async (_, { contractChanges }) => {
        tries += 1;
        return contractChanges === 1;
      },
      countNamed: async () => 0,
      removeNamed: async () => ({ removed: 0, more: false }),
    },
    clock: { now: () => world.nowMs },
    audit: { change: async (subject, change) => change(recordOf(world.nowMs, subject)) } as Audit,
  });
  const request = { applicationId, reference: 'R', run: 'run', dryRun: false } as ForgetApplicationRequest;
  const call = { signal: AbortSignal.timeout(1000) } as Parameters<typeof forgetApplication>[1];
  await forgetApplication(request, call);
  expect(tries).toBe(2);
});

test('its clients get the error of an unknown application, and no call restores it', async () => {
  const ask = () => world.applications.authorizeApplication({ clientId: 'dev-client', applicationId });
  expect(await ask()).toMatchObject({ developerId: 'dev' });
  await forget();
  const forbidden = { code: 'application_forbidden' };
  await expect(ask()).rejects.toMatchObject(forbidden);
  // Calls that were already running, or that a gateway's cache allows for some seconds.
  const set = { deviceEvent: 'https://example.com/late' };
  await expect(world.applications.updateSettings({ caller, set })).rejects.toMatchObject(forbidden);
  await expect(world.applications.refreshAuthenticationKey({ caller })).rejects.toMatchObject(forbidden);
  await expect(world.applications.getSettings({ applicationId })).rejects.toMatchObject(forbidden);
  await expect(world.devices.activateDevice({ caller, deviceId, clientId: 'c' })).rejects.toMatchObject({
    code: expect.stringMatching(/forbidden|limit/),
  });
  expect(await world.applications.getDestination({ applicationId, setting: 'deviceEvent' })).toMatchObject({
    ...{ url: '', authenticationKey: '' },
  });
  expect(await stored()).toMatchObject({ settings: {}, name: '' });
});

test('its id cannot be used again, and is in no list', async () => {
  await forget();
  for (const developerId of ['dev', 'other']) {
    await world.admin.putDeveloper({ developer: { developerId, name: 'D', clientIds: [] } });
    await expect(
      world.admin.createApplication({ application: { applicationId, developerId, name: 'App' } }),
    ).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('is forgotten') });
  }
  const ids = async (developerId: string) =>
    (await world.admin.listApplications({ developerId })).applications.map((one) => one.applicationId);
  expect([await ids(''), await ids('dev')]).toEqual([['another'], ['another']]);
  await expect(
    world.admin.putContract({ applicationId, activationLimit: 1, addDeviceIds: [imei(1)] }),
  ).rejects.toMatchObject({ code: 'not_found' });
  expect(await named()).toBe(0);
});

test('an invalid reference or an unknown application is rejected', async () => {
  for (const reference of ['', 'asked by John Doe']) {
    await expect(forget({ reference })).rejects.toMatchObject({ code: 'invalid_argument' });
  }
  for (const id of ['', 'a/b']) {
    await expect(forget({ applicationId: id })).rejects.toMatchObject({ code: 'invalid_argument' });
  }
  await expect(forget({ applicationId: 'unknown' })).rejects.toMatchObject({ code: 'not_found' });
});

onEmbedded('the IMEIs of a large contract are removed in several calls, which leave one record', async () => {
  await world.admin.putContract({
    ...{ applicationId, activationLimit: 10 },
    addDeviceIds: Array.from({ length: 50 }, (_, n) => imei(n)),
  });
  let [calls, removed] = [0, 0];
  for (let more = true; more; calls += 1) {
    const answer = await forget();
    removed += answer.forgotten.at(-1)?.removed ?? 0;
    more = answer.more;
  }
  expect([calls, removed, await named()]).toEqual([3, 50, 0]);
  await recordsPublished();
  const records = (await world.log.readNewest(topics.audit, 1000))
    .map(({ value }) => fromBinary(AuditRecordSchema, value))
    .filter(({ action }) => action === 'devices.ForgetApplication');
  expect(new Set(records.map(({ recordId }) => recordId)).size).toBe(1);
  expect(records[0]).toMatchObject({ applicationId, target: 'REQUEST-18', fields: ['forgotten'] });
});

onEmbedded('its data is found by indexes, whatever the number of other devices and contracts', async () => {
  await provision(world, { name: 'large', devices: 300 });
  await recordsPublished();
  const before = world.documentsExamined();
  await forget({ dryRun: true });
  await forget();
  expect(world.documentsExamined() - before).toBeLessThan(60);
});
