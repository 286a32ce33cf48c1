import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { openWorld, type World } from './testing/world.ts';

/** The audit store (ADR 0044). */

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const record = (n: number, more: object = {}): MessageInitShape<typeof AuditRecordSchema> => ({
  ...{ recordId: `record-${n}`, atMs: BigInt(n), action: 'devices.UpdateSettings', applicationId: 'app' },
  actor: { clientId: 'client', tokenId: 'jti' },
  fields: ['soraEvent'],
  ...more,
});
const publish = async (...records: MessageInitShape<typeof AuditRecordSchema>[]) => {
  await world.log.publish(
    topics.audit,
    records.map((one) => ({
      key: 'app',
      value: toBinary(AuditRecordSchema, create(AuditRecordSchema, one)),
    })),
  );
  await waitFor('the records', async () => (await world.log.lag('billing-audit', topics.audit)) === 0);
};
const list = async (query: Parameters<World['audit']['listAuditRecords']>[0]) =>
  (await world.audit.listAuditRecords(query)).records.map(({ recordId }) => recordId);

test('a record that is delivered twice is stored once, with its first content', async () => {
  await publish(record(1));
  await publish(record(1, { fields: ['other'] }), record(2));
  const { records } = await world.audit.listAuditRecords({});
  expect(records.map(({ recordId, fields }) => [recordId, fields.join()])).toEqual([
    ['record-2', 'soraEvent'],
    ['record-1', 'soraEvent'],
  ]);
  expect(records[0]).toMatchObject({ actor: { clientId: 'client', tokenId: 'jti' }, atMs: 2n });
  expect(await world.metrics('headset_audit_records_total')).toEqual([
    'headset_audit_records_total{outcome="stored"} 2',
    'headset_audit_records_total{outcome="duplicate"} 1',
  ]);
});

test('each filter lists only its records, newest first', async () => {
  await publish(
    record(10),
    record(20, { applicationId: 'other', deviceId: '356938035000001' }),
    record(30, { action: 'devices.PutDeveloper', developerId: 'dev', applicationId: '' }),
    record(40, { action: 'billing.PutPlans', actor: { operator: 'kim' } }),
  );
  expect(await list({ actor: 'kim' })).toEqual(['record-40']);
  expect(await list({ actor: 'client' })).toEqual(['record-30', 'record-20', 'record-10']);
  expect(await list({ applicationId: 'app' })).toEqual(['record-40', 'record-10']);
  expect(await list({ developerId: 'dev' })).toEqual(['record-30']);
  expect(await list({ deviceId: '356938035000001' })).toEqual(['record-20']);
  expect(await list({ action: 'UpdateSettings' })).toEqual(['record-20', 'record-10']);
  expect(await list({ action: 'billing.PutPlans' })).toEqual(['record-40']);
  expect(await list({ action: 'devices.PutDevice' })).toEqual([]);
  expect(await list({ fromMs: 20n, toMs: 40n })).toEqual(['record-30', 'record-20']);
  expect(await list({ applicationId: 'app', actor: 'client', fromMs: 11n })).toEqual([]);
});

test('pages follow each other without a gap, also if many records have the same time', async () => {
  await publish(...[1, 2, 3, 4, 5].map((n) => record(n, { atMs: 7n })));
  const found: string[] = [];
  let cursor = '';
  do {
    const page = await world.audit.listAuditRecords({ limit: 2, cursor });
    found.push(...page.records.map(({ recordId }) => recordId));
    cursor = page.nextCursor;
  } while (cursor !== '');
  expect(found).toEqual([5, 4, 3, 2, 1].map((n) => `record-${n}`));
  await expect(world.audit.listAuditRecords({ cursor: 'x' })).rejects.toThrow('cursor');
  await expect(world.audit.listAuditRecords({ limit: 1001 })).rejects.toThrow('1000');
});

test('an unknown action is rejected with the list of known actions', async () => {
  for (const action of ['PutPlan', 'devices.PutPlans', 'putPlans']) {
    await expect(list({ action })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(
        `^action "${action}" is not one of billing.AddUsage, billing.PutPlans, .*devices.PutContract`,
      ),
    });
  }
});
