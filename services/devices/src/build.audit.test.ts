import { fromBinary } from '@bufbuild/protobuf';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { type AuditRecord, AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { withActor } from '@headset-cloud/rpc/actor.ts';
import {
  mostPendingRecords,
  type PendingAuditFields,
  type PendingAuditRecord,
} from '@headset-cloud/rules/audit/record.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { imei, openWorld, provision, type World } from './testing/world.ts';

/** Audit records of changes (ADR 0044). */

const integrator = {
  ...{ clientId: 'dev-client', tokenId: 'jti-1', address: '192.0.2.7', requestId: 'request-1' },
  route: 'PATCH /v1/applications/{applicationId}',
};
const caller = { clientId: 'dev-client', applicationId: 'app' };
const deviceId = imei(0);

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world);
});
afterEach(() => world.close());

const published = async (): Promise<AuditRecord[]> =>
  (await world.log.readNewest(topics.audit, 1000)).map(({ value }) => fromBinary(AuditRecordSchema, value));
const publishedOf = (action: string, count = 1) =>
  waitFor(`${count} records of ${action}`, async () => {
    const found = (await published()).filter((one) => one.action === action);
    return found.length === count && found;
  });
const pendingRecordsOf = async (collection: string, _id: string) =>
  (await world.store.collection<PendingAuditFields & { _id: string }>(collection).findOne({ _id }))?.audit ??
  [];
const nothingIsPending = () =>
  waitFor('no record is pending', async () => {
    for (const name of ['developers', 'applications', 'contracts', 'devices', 'hardwareModels']) {
      const pending = { auditAtMs: { $gt: 0 } };
      if (
        (await world.store.collection<PendingAuditFields & { _id: string }>(name).findOne(pending)) !== null
      )
        return false;
    }
    return true;
  });

test('a record contains actor, address, action, time and request, and no values', async () => {
  await nothingIsPending();
  const set = { soraEvent: 'https://secret.example.com/hook' };
  await withActor(integrator, () =>
    world.applications.updateSettings({ caller, set, remove: ['fileUploadEvent'] }),
  );
  // The first record belongs to the setup.
  const records = await publishedOf('devices.UpdateSettings', 2);
  expect(records.at(-1)).toMatchObject({
    ...{ actor: integrator, applicationId: 'app', fields: ['soraEvent', 'fileUploadEvent'] },
    atMs: BigInt(world.nowMs),
  });
  const { authenticationKey } = await withActor(integrator, () =>
    world.applications.refreshAuthenticationKey({ caller }),
  );
  await publishedOf('devices.RefreshAuthenticationKey', 2);
  const all = JSON.stringify((await published()).map((one) => ({ ...one, atMs: Number(one.atMs) })));
  expect(all).toContain('authenticationKey');
  expect(all).not.toContain(authenticationKey);
  expect(all).not.toContain('secret.example.com');
});

test('while the log is unavailable a document has at most a thousand pending records: then changes wait, and none is lost', async () => {
  await nothingIsPending();
  world.auditFailure = new DomainError('unavailable', 'away');
  const change = (i: number) =>
    withActor(integrator, () =>
      world.applications.updateSettings({ caller, set: { soraEvent: `https://a.test/${i}` } }),
    );
  await change(0);
  const [record] = await pendingRecordsOf('applications', 'app');
  // Number of records that a long outage leaves.
  const more = Array.from({ length: mostPendingRecords - 2 }, (_, i) => ({
    ...(record as PendingAuditRecord),
    id: `r-${i}`,
  }));
  await world.store
    .collection<PendingAuditFields & { _id: string }>('applications')
    .updateOne({ _id: 'app' }, { $push: { audit: { $each: more } } });
  await change(1);
  await expect(change(2)).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 5000 });
  expect((await world.applications.getSettings({ applicationId: 'app' })).settings?.soraEvent).toBe(
    'https://a.test/1',
  );
  world.auditFailure = undefined;
  await nothingIsPending();
  await change(3);
  await waitFor('all records', async () => {
    const newest = await world.log.readNewest(topics.audit, 5000);
    const ids = newest.map(({ value }) => fromBinary(AuditRecordSchema, value).recordId);
    return new Set(ids).size >= mostPendingRecords + 1;
  });
});

test('while the log is unavailable the changed document keeps the record; afterwards it is published once', async () => {
  await nothingIsPending();
  world.auditFailure = new DomainError('unavailable', 'away');
  await withActor(integrator, () =>
    world.applications.updateSettings({ caller, set: { soraEvent: 'https://a.test/1' } }),
  );
  expect(await pendingRecordsOf('applications', 'app')).toMatchObject([
    { clientId: 'dev-client', tokenId: 'jti-1', fields: ['soraEvent'] },
  ]);
  world.auditFailure = undefined;
  // The next change wakes the outbox.
  await world.applications.refreshAuthenticationKey({ caller });
  await nothingIsPending();
  const records = (await published()).filter(({ fields }) => fields.includes('soraEvent'));
  expect(records).toHaveLength(1);
});

test('a call that is interrupted right after its change still leaves the record', async () => {
  world.cutAt = 'after store devices.applications.audit';
  await expect(
    withActor(integrator, () =>
      world.applications.updateSettings({ caller, set: { soraEvent: 'https://a.test/1' } }),
    ),
  ).rejects.toThrow();
  await waitFor('the record', async () =>
    (await published()).some(({ fields }) => fields.includes('soraEvent')),
  );
});

test('a change that is rejected, or a repeat, leaves no record', async () => {
  await nothingIsPending();
  const before = (await published()).length;
  const unknown = { ...caller, applicationId: 'unknown' };
  await expect(world.applications.refreshAuthenticationKey({ caller: unknown })).rejects.toThrow();
  await expect(world.admin.removeHeadsetKey({ deviceId, keyId: 'none' })).rejects.toThrow();
  await expect(world.devices.activateDevice({ caller, deviceId: imei(99), clientId: 'c' })).rejects.toThrow();
  const application = { applicationId: 'app', developerId: 'dev', name: 'App' };
  await world.admin.createApplication({ application });
  await nothingIsPending();
  expect(await published()).toHaveLength(before);
});

test('activation, its change of client, reset and deactivation each leave one record', async () => {
  const changes: (() => Promise<unknown>)[] = [
    () => world.devices.activateDevice({ caller, deviceId, clientId: 'c-1', clientSecret: 'hidden-1' }),
    () => world.devices.activateDevice({ caller, deviceId, clientId: 'c-2' }),
    () => world.devices.resetDevice({ caller, deviceId }),
    () => world.devices.deactivateDevice({ caller, deviceId }),
  ];
  for (const change of changes) await withActor(integrator, change);
  await publishedOf('devices.DeactivateDevice');
  const records = (await published()).filter(({ actor }) => actor?.tokenId === 'jti-1');
  expect(records.map(({ action, fields, ...one }) => [action, fields.join(), one.deviceId])).toEqual([
    ['devices.ActivateDevice', 'clientId,clientSecret', deviceId],
    ['devices.ActivateDevice', 'clientId', deviceId],
    ['devices.ResetDevice', '', deviceId],
    ['devices.DeactivateDevice', '', deviceId],
  ]);
  expect(JSON.stringify(records.map(({ fields, target }) => [fields, target]))).not.toContain('hidden-1');
});

test("a gateway of release 0.1.0 names no actor: the record has the call's client", async () => {
  await world.applications.updateSettings({ caller, set: { soraEvent: 'https://a.test/1' } });
  const records = await publishedOf('devices.UpdateSettings', 2);
  expect(records.map(({ actor }) => actor?.clientId)).toContain('dev-client');
});

test('a change of a contract names only the changed fields', async () => {
  const put = { applicationId: 'app', keepActivationLimit: true };
  await withActor({ operator: 'kim' }, async () => {
    await world.admin.putContract({ ...put, addDeviceIds: [imei(7)] });
    await world.admin.putContract({ ...put, removeDeviceIds: [imei(7)], limits: { callsUnderWay: 3 } });
    await world.admin.putContract({ ...put, defaultLimits: true });
    await world.admin.putContract({ applicationId: 'app', activationLimit: 9 });
    const none = world.admin.putContract({ ...put, applicationId: 'none', addDeviceIds: [imei(7)] });
    await expect(none).rejects.toMatchObject({ code: 'not_found' });
  });
  const ofKim = async () => (await published()).filter(({ actor }) => actor?.operator === 'kim');
  await waitFor('four', async () => (await ofKim()).length >= 4);
  await nothingIsPending();
  expect((await ofKim()).map(({ fields }) => fields.join())).toEqual([
    'addDeviceIds',
    'removeDeviceIds,limits.callsUnderWay',
    'defaultLimits',
    'activationLimit',
  ]);
});

test('changes by operators leave a record that names the operator and the changed fields', async () => {
  const operator = { operator: 'kim', address: '127.0.0.1', requestId: 'request-2' };
  await withActor(operator, async () => {
    await world.admin.putContract({
      ...{ applicationId: 'app', activationLimit: 5, addDeviceIds: [imei(7)] },
      limits: { callsPerSecond: 9 },
    });
    await world.admin.putDevice({ deviceId, specificDestination: 'EU' });
    await world.admin.putDeveloper({
      developer: { developerId: 'dev', name: 'Dev', clientIds: ['dev-client'] },
    });
  });
  await waitFor('three', async () => {
    const found = (await published()).filter(({ actor }) => actor?.operator === 'kim');
    return found.length === 3;
  });
  const records = (await published()).filter(({ actor }) => actor?.operator === 'kim');
  const shown = records.map(({ action, applicationId, developerId, fields, ...one }) =>
    [action, applicationId || developerId || one.deviceId, fields.join()].join(' '),
  );
  expect(shown.sort()).toEqual([
    'devices.PutContract app activationLimit,addDeviceIds,limits.callsPerSecond',
    'devices.PutDeveloper dev name,clientIds',
    `devices.PutDevice ${deviceId} specificDestination`,
  ]);
  expect((await world.admin.getDevice({ deviceId: imei(7) })).device?.deviceId).toBe(imei(7));
});
