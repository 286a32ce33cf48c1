import { create, toBinary } from '@bufbuild/protobuf';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { openWorld, type World } from './testing/world.ts';

/** An audit store that fails because it is full or unavailable (ADR 0044). */

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const publish = (...ids: string[]) =>
  world.log.publish(
    topics.audit,
    ids.map((recordId) => ({
      key: 'app',
      value: toBinary(AuditRecordSchema, create(AuditRecordSchema, { recordId, atMs: 1n, action: 'a.B' })),
    })),
  );
const lag = () => world.log.lag('billing-audit', topics.audit);
const failing = async () => (await world.metrics('headset_audit_store_failing'))[0];

test('is reported in readiness and the metric, keeps every record in the log, and recovers without an operator', async () => {
  await publish('before');
  await waitFor('the first', async () => (await lag()) === 0);
  expect([world.notReady(), await failing()]).toEqual([undefined, 'headset_audit_store_failing 0']);

  // Error of a MongoDB server whose disk is full.
  world.recordsFailure = Object.assign(new Error('OutOfDiskSpace'), {
    code: 14031,
    writeErrors: [{ code: 14031 }],
  });
  await publish('one', 'two');
  await waitFor('the refusal', () => world.notReady() !== undefined);
  expect(world.notReady()).toContain('the audit store takes no records');
  expect(await failing()).toBe('headset_audit_store_failing 1');
  expect(await lag()).toBeGreaterThan(0);
  // Bills are still answered.
  await world.billing.getBill({ applicationId: 'app', year: 2026, month: 11 });

  world.recordsFailure = undefined;
  await waitFor('all of them', async () => (await lag()) === 0, { timeoutMs: 20_000 });
  const { records } = await world.audit.listAuditRecords({});
  expect(records.map(({ recordId }) => recordId).sort()).toEqual(['before', 'one', 'two']);
  expect([world.notReady(), await failing()]).toEqual([undefined, 'headset_audit_store_failing 0']);
});
