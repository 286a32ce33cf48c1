import { create, toBinary } from '@bufbuild/protobuf';
import { onEmbedded } from '@headset-cloud/embedded/testing/bed.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { dayMs } from '@headset-cloud/rules/retention/config.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { auditSteps, type RecordDocument, recordsCollection } from './audit/documents.ts';
import { oldRecords } from './audit/retention.ts';
import { openWorld, type World } from './testing/world.ts';

/** Retention of audit records (ADR 0044, ADR 0045). */

let world: World;
let todayMs: number;
beforeEach(async () => {
  world = await openWorld('UTC+9', 50);
  todayMs = world.nowMs;
});
afterEach(() => world.close());

const publish = async (...records: readonly (readonly [id: string, atMs: number])[]) => {
  await world.log.publish(
    topics.audit,
    records.map(([recordId, atMs]) => ({
      key: 'app',
      value: toBinary(
        AuditRecordSchema,
        create(AuditRecordSchema, {
          ...{ recordId, atMs: BigInt(atMs), action: 'devices.UpdateSettings', applicationId: 'app' },
          actor: { clientId: 'client' },
        }),
      ),
    })),
  );
  await waitFor('the records', async () => (await world.log.lag('billing-audit', topics.audit)) === 0);
};
const listed = async (more: object = {}) => {
  const { records, nextCursor } = await world.audit.listAuditRecords({ applicationId: 'app', ...more });
  return { ids: records.map(({ recordId }) => recordId), nextCursor };
};
/** Waits until a retention run that began after this call has ended: the second run that ends. */
async function ran() {
  const states = world.store.collection('retention');
  for (let runs = 0; runs < 2; runs++) {
    world.nowMs += 100;
    const sinceMs = world.nowMs;
    await waitFor('a run', async () => {
      world.nowMs += 100;
      const state = await states.findOne({ _id: 'audit' as never });
      return ((state?.['completedAtMs'] as number | undefined) ?? 0) >= sinceMs;
    });
  }
}

test('a record is deleted 800 days after its change, and not before', async () => {
  await publish(['old', todayMs], ['young', todayMs + 2 * dayMs]);
  world.nowMs = todayMs + 800 * dayMs - 60_000;
  await ran();
  expect((await listed()).ids).toEqual(['young', 'old']);
  world.nowMs = todayMs + 800 * dayMs + 60_000;
  await ran();
  expect((await listed()).ids).toEqual(['young']);
  expect(await world.metrics('headset_retention_deleted_total')).toContain(
    'headset_retention_deleted_total{kind="audit"} 1',
  );
});

test('the list continues from page to page while the records behind it are deleted', async () => {
  const days = [1, 2, 3, 4, 5];
  await publish(...days.map((day): [string, number] => [`day-${day}`, todayMs + day * dayMs]));
  const first = await listed({ limit: 2 });
  expect(first.ids).toEqual(['day-5', 'day-4']);
  // The last record of the first page is deleted meanwhile, too.
  world.nowMs = todayMs + 802.5 * dayMs;
  await ran();
  expect((await listed({ limit: 2, cursor: first.nextCursor })).ids).toEqual(['day-3']);
  world.nowMs = todayMs + 804.5 * dayMs;
  await ran();
  expect(await listed({ limit: 2, cursor: first.nextCursor })).toEqual({ ids: [], nextCursor: '' });
  expect((await listed()).ids).toEqual(['day-5']);
});

test('a record of a process whose clock was far behind is kept as long as a record of today', async () => {
  await publish(['of 1970', 1000]);
  world.nowMs = todayMs + 799 * dayMs;
  await ran();
  expect((await listed()).ids).toEqual(['of 1970']);
  world.nowMs = todayMs + 801 * dayMs;
  await ran();
  expect((await listed()).ids).toEqual([]);
});

test('a repeated record keeps the time at which it was first stored', async () => {
  await publish(['again', 1000]);
  world.nowMs = todayMs + 400 * dayMs;
  await publish(['again', 1000]);
  world.nowMs = todayMs + 801 * dayMs;
  await ran();
  expect((await listed()).ids).toEqual([]);
});

onEmbedded('old records are found by an index, whatever the number of records', async () => {
  await publish(...Array.from({ length: 200 }, (_, n): [string, number] => [`new-${n}`, todayMs]), [
    'old',
    todayMs - 900 * dayMs,
  ]);
  const records = world.store.collection<RecordDocument>(recordsCollection);
  // This test keeps the records in the service's own database, whose steps do not create their indexes.
  for (const { indexes } of auditSteps.steps)
    await records.createIndexes([...(indexes[recordsCollection] ?? [])]);
  const kind = oldRecords(records, 800 * dayMs);
  const before = world.documentsExamined();
  world.nowMs = todayMs + dayMs;
  expect(await kind.find(todayMs - 800 * dayMs, 20)).toEqual([]);
  expect(await kind.oldestMs()).toBe(todayMs - 900 * dayMs);
  expect(world.documentsExamined() - before).toBeLessThan(10);
});
