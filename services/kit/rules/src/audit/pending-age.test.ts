import { fromBinary } from '@bufbuild/protobuf';
import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { topics } from '@headset-cloud/eventlog/types.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { Registry } from 'prom-client';
import { createAuditOutbox } from './outbox.ts';
import { type PendingAuditFields, withAuditRecord } from './record.ts';

interface Thing extends PendingAuditFields {
  _id: string;
}

let bed: TestBed;
let things: StoreCollection<Thing>;
let others: StoreCollection<Thing>;
const world = { nowMs: 0, logAway: false, storeAway: false, publishing: async () => {} };
const metrics = () => registry.getSingleMetricAsString('headset_audit_oldest_pending_age_seconds');
const age = async () => /^headset_audit_oldest_pending_age_seconds (.+)$/m.exec(await metrics())?.[1];
let registry: Registry;
/** Targets of the published records. */
let published: string[];

beforeEach(async () => {
  bed = openTestBed('billing', { onMongo: true });
  await bed.log.ensureTopics([topics.audit]);
  [registry, published] = [new Registry(), []];
  Object.assign(world, { nowMs: 1_000_000, logAway: false, storeAway: false, publishing: async () => {} });
  [things, others] = [bed.store.collection<Thing>('things'), bed.store.collection<Thing>('others')];
});
afterEach(() => bed.remove());

/** The outbox of one service of a process. */
function outboxOf(collection: StoreCollection<Thing>) {
  return createAuditOutbox({
    collections: [collection],
    ...{ logger: bed.logger, metrics: registry, clock: { now: () => world.nowMs } },
    log: {
      async publish(topic, events) {
        if (world.logAway) throw new DomainError('unavailable', 'away');
        published.push(...events.map(({ value }) => fromBinary(AuditRecordSchema, value).target));
        await world.publishing();
        return bed.log.publish(topic, events);
      },
    },
  });
}

test('a metric shows the age of an unpublished record, also if its document changes again', async () => {
  const [outbox, second] = [outboxOf(things), outboxOf(others)];
  const change = (of: typeof outbox, collection: StoreCollection<Thing>) =>
    of.change({}, (record) => collection.updateOne({ _id: 'a' }, withAuditRecord<Thing>({}, record)));
  await things.insertOne({ _id: 'a' });
  await others.insertOne({ _id: 'a' });
  outbox.start();
  second.start();
  expect(await age()).toBe('0');
  world.logAway = true;
  await change(second, others);
  world.nowMs += 200_000;
  await change(outbox, things);
  await change(second, others);
  world.nowMs += 100_000;
  expect(await age()).toBe('300');
  world.logAway = false;
  await change(outbox, things);
  await change(second, others);
  await waitFor('no pending record', async () => (await age()) === '0');
  await outbox.stop();
  await second.stop();
});

test('the records of two hundred documents are published, also a record stored while another record of its document is being published', async () => {
  const ids = Array.from({ length: 200 }, (_, i) => `thing-${i}`);
  await things.insertMany(ids.map((_id) => ({ _id })));
  const outbox = outboxOf(things);
  const change = (_id: string, target: string) =>
    outbox.change({ target }, (record) => things.updateOne({ _id }, withAuditRecord<Thing>({}, record)));
  let late: Promise<unknown> | undefined;
  world.publishing = async () => {
    late ??= change('thing-0', 'late');
    await late;
  };
  await Promise.all(ids.map((id) => change(id, id)));
  outbox.start();
  await waitFor(
    'no pending record',
    async () => (await things.countDocuments({ auditAtMs: { $gt: 0 } })) === 0,
  );
  await outbox.stop();
  expect(new Set(published)).toEqual(new Set([...ids, 'late']));
  expect(await things.countDocuments({ audit: { $exists: true } })).toBe(0);
});

test('the age is absent, not 0, while the database does not answer', async () => {
  const findOne: StoreCollection<Thing>['findOne'] = (...given) =>
    world.storeAway ? Promise.reject(new Error('away')) : things.findOne(...given);
  outboxOf(new Proxy(things, { get: (of, name) => (name === 'findOne' ? findOne : Reflect.get(of, name)) }));
  expect(await age()).toBe('0');
  world.storeAway = true;
  expect(await age()).toBeUndefined();
});
