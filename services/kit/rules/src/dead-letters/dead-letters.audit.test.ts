import { fromBinary } from '@bufbuild/protobuf';
import { cutOffAt, openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { PoisonEventError, type RunningSubscription, topics } from '@headset-cloud/eventlog/types.ts';
import { type AuditRecord, AuditRecordSchema } from '@headset-cloud/proto/common/v1/audit_pb.ts';
import { DeadLettersAdminService } from '@headset-cloud/proto/eventlog/v1/admin_pb.ts';
import { withActor } from '@headset-cloud/rpc/actor.ts';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { type Client, createClient } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Registry } from 'prom-client';
import { createOperatorsOutbox } from '../audit/operators-outbox.ts';
import type { AuditOutbox } from '../audit/outbox.ts';
import { deadLettersAdmin } from './admin.ts';
import { type DeadLetterDocument, deadLettersCollection } from './documents.ts';
import { withDeadLetters } from './log.ts';

/** Operators' changes of dead letters leave an audit record (ADR 0044). */

const operator = {
  ...{ clientId: '', tokenId: '', operator: 'kim', address: '192.0.2.7', requestId: 'request-1', route: '' },
};
const id = 'usage/0:1/billing-usage';
const keepMs = 30 * 86_400_000;

let bed: TestBed;
let admin: Client<typeof DeadLettersAdminService>;
let outbox: AuditOutbox;
let running: RunningSubscription;
let handled: number;
/** Error that the handler throws; undefined: it handles the event. */
let failure: ((event: never) => Error) | undefined;
const world = { nowMs: 1_700_000_000_000, cutAt: undefined as string | undefined, auditAway: false };

beforeEach(async () => {
  bed = openTestBed('billing', { onMongo: true });
  Object.assign(world, { nowMs: 1_700_000_000_000, cutAt: undefined, auditAway: false });
  handled = 0;
  failure = (event) => new PoisonEventError(event, 'not usage');
  const { logger } = bed;
  const { store } = cutOffAt('billing', { store: bed.store }, () => world);
  const clock = { now: () => world.nowMs };
  outbox = createOperatorsOutbox({
    ...{ store, logger, clock },
    metrics: new Registry(),
    log: {
      ensureTopics: (names) => bed.log.ensureTopics(names),
      async publish(topic, events) {
        if (world.auditAway) throw new DomainError('unavailable', 'away');
        return bed.log.publish(topic, events);
      },
    },
  });
  const { log, deadLetters } = withDeadLetters(bed.log, {
    ...{ store, logger, clock, keepMs },
    replayEveryMs: 20,
  });
  await log.ensureTopics([topics.usage, topics.audit]);
  running = await log.subscribe({
    topic: topics.usage,
    group: 'billing-usage',
    handle: async ([event]) => {
      handled += 1;
      const thrown = failure?.(event as never);
      if (thrown) throw thrown;
    },
  });
  const channel = new LocalChannel();
  channel.register([deadLettersAdmin([{ ...deadLetters, audit: outbox }])]);
  admin = createClient(DeadLettersAdminService, channel);
  outbox.start();
  await bed.log.publish(topics.usage, [{ key: 'k', value: Buffer.from('bad') }]);
  await waitFor('the dead letter', async () => (await deadLetter()) !== null);
  handled = 0;
});
afterEach(async () => {
  await running.close();
  await outbox.stop();
  await bed.remove();
});

const deadLetter = () => bed.store.collection<DeadLetterDocument>(deadLettersCollection).findOne({ _id: id });
const pending = async () => (await deadLetter())?.audit ?? [];
const records = async (): Promise<AuditRecord[]> =>
  (await bed.log.readNewest(topics.audit, 100)).map(({ value }) => fromBinary(AuditRecordSchema, value));
const published = (count: number) =>
  waitFor(`${count} published records, and none pending`, async () => {
    const found = await records();
    return found.length === count && (await deadLetter())?.auditAtMs === undefined && found;
  });
const replay = (reason = 'fixed') => withActor(operator, () => admin.replayDeadLetter({ id, reason }));
const discard = (reason = 'a test') => withActor(operator, () => admin.discardDeadLetter({ id, reason }));

test('a replay is recorded once with actor, address, target, time and request, without the reason', async () => {
  failure = undefined;
  await replay('the parser was fixed');
  const [record] = await published(1);
  expect(record).toMatchObject({
    ...{ actor: operator, action: 'eventlog.ReplayDeadLetter', target: id, fields: ['state', 'reason'] },
    atMs: BigInt(world.nowMs),
  });
  expect(JSON.stringify({ ...record, atMs: 0 })).not.toContain('the parser was fixed');
  expect(handled).toBe(1);
});

test('a discard stores its record in the write that ends the dead letter', async () => {
  world.auditAway = true;
  await discard();
  expect([(await deadLetter())?.state, await pending()]).toMatchObject([
    'discarded',
    [{ operator: 'kim', action: 'eventlog.DiscardDeadLetter', target: id }],
  ]);
  world.auditAway = false;
  await expect(discard()).rejects.toThrow('It was discarded before');
  await published(1);
});

test('a replay that is interrupted before its event is handled is recorded, and completed without another record', async () => {
  failure = undefined;
  world.cutAt = 'after store billing.deadLetters.claimedUntilMs';
  await expect(replay()).rejects.toThrow();
  expect(handled).toBe(0);
  await published(1);
  world.nowMs += 61_000;
  await waitFor('its end', async () => (await deadLetter())?.state === 'replayed');
  expect(handled).toBe(1);
  await published(1);
});

test('a replay that fails again is recorded, because its event was handled', async () => {
  await expect(replay()).rejects.toThrow('could not be handled again');
  await published(1);
  failure = undefined;
  await replay();
  const both = await published(2);
  expect(new Set(both.map(({ recordId }) => recordId)).size).toBe(2);
});

test('a rejected call leaves no record', async () => {
  await expect(replay(' ')).rejects.toThrow('The reason');
  await discard();
  await expect(replay()).rejects.toThrow('It was discarded before');
  await expect(
    withActor(operator, () => admin.discardDeadLetter({ id: 'usage/0:9/billing-usage', reason: 'x' })),
  ).rejects.toThrow('There is no dead letter');
  expect((await published(1)).map(({ action }) => action)).toEqual(['eventlog.DiscardDeadLetter']);
});

test('a dead letter does not expire during its replay, and gets its full retention period again if the replay fails', async () => {
  failure = () => new DomainError('unavailable', 'The database is unavailable.');
  world.cutAt = 'after store billing.deadLetters.claimedUntilMs';
  expect((await deadLetter())?.expiresAt?.getTime()).toBe(world.nowMs + keepMs);
  await expect(replay()).rejects.toThrow();
  expect((await deadLetter())?.expiresAt).toBeUndefined();
  world.nowMs += 61_000;
  await waitFor('the failure', async () => (await deadLetter())?.state === 'waiting');
  expect((await deadLetter())?.expiresAt?.getTime()).toBe(world.nowMs + keepMs);
});
