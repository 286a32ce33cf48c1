import { create, toBinary } from '@bufbuild/protobuf';
import { type LogEvent, PoisonEventError } from '@headset-cloud/eventlog/types.ts';
import { AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { isTransient } from '@headset-cloud/runtime/errors.ts';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createAuditKeeper } from './keeper.ts';

const event = (recordId: string): LogEvent => ({
  ...{ topic: 'audit', key: 'app', headers: {}, position: '0:1', timestampMs: 1 },
  value: toBinary(
    AuditRecordSchema,
    create(AuditRecordSchema, {
      ...{ recordId, atMs: 1_000n, action: 'devices.UpdateSettings', applicationId: 'app' },
      ...{ actor: { clientId: 'client', address: '192.0.2.7' }, fields: ['soraEvent'] },
    }),
  ),
});

let nowMs = 1_000_000;

function keeper() {
  const lines: Record<string, unknown>[] = [];
  const store = { failure: undefined as Error | undefined, stored: 0 };
  const metrics = new Registry();
  const made = createAuditKeeper({
    store: {
      async add(records) {
        if (store.failure) throw store.failure;
        store.stored += records.length;
        return records.length;
      },
    },
    metrics,
    logger: pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }),
    clock: { now: () => nowMs },
  });
  return { made, lines, store, metrics };
}

test('a full store is reported, loses no record, and is reported as recovered', async () => {
  const { made, lines, store, metrics } = keeper();
  const failing = async () =>
    (await metrics.getSingleMetric('headset_audit_store_failing')?.get())?.values[0];
  // isTransient is false for a bulk write whose single writes fail, as on a full disk. Without the conversion its
  // events would become dead letters.
  store.failure = Object.assign(new Error('disk full'), {
    ...{ name: 'MongoBulkWriteError', code: 14031, writeErrors: [{ code: 14031 }] },
  });
  expect(isTransient(store.failure)).toBe(false);
  const failure = await made.handle([event('a')]).catch((error: unknown) => error);
  expect(isTransient(failure)).toBe(true);
  expect(made.notReady()).toContain('the audit store takes no records');
  expect(await failing()).toMatchObject({ value: 1 });
  expect(lines).toEqual([]);
  store.failure = undefined;
  await made.handle([event('a')]);
  expect([made.notReady(), store.stored]).toEqual([undefined, 1]);
  expect(await failing()).toMatchObject({ value: 0 });
});

test('an instance that gets no more records stops reporting its store as failing', async () => {
  const { made, store, metrics } = keeper();
  const failing = async () =>
    (await metrics.getSingleMetric('headset_audit_store_failing')?.get())?.values[0];
  store.failure = new Error('away');
  await expect(made.handle([event('a')])).rejects.toThrow('takes no records');
  nowMs += 59_000;
  expect([made.notReady(), (await failing())?.value]).toEqual([expect.stringContaining('wait'), 1]);
  // Another instance has taken over the partition, and stores them.
  nowMs += 2000;
  expect([made.notReady(), (await failing())?.value]).toEqual([undefined, 0]);
});

test('a stored record is one log line, with names and ids and without empty fields', async () => {
  const { made, lines } = keeper();
  await made.handle([event('a'), event('b')]);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatchObject({ msg: 'audit record' });
  expect(lines[0]?.['audit']).toEqual({
    ...{ recordId: 'a', at: '1970-01-01T00:00:01.000Z', atMs: 1000, action: 'devices.UpdateSettings' },
    ...{ clientId: 'client', address: '192.0.2.7', applicationId: 'app', fields: ['soraEvent'] },
  });
});

test('an event that is not a record becomes a dead letter', async () => {
  const { made } = keeper();
  await expect(made.handle([event('')])).rejects.toThrow(PoisonEventError);
});
