import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Binary } from 'mongodb';
import { createCanceler } from './cancel/canceler.ts';
import { createDispatcher } from './dispatch/dispatcher.ts';
import { createOutbox } from './outbox.ts';
import { collections, type TransactionDocument } from './store/documents.ts';
import { createTransactionStore } from './store/store.ts';
import { createSweeper } from './sweeper.ts';

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('transactions');
});
afterEach(() => bed.remove());

const mebibyte = 1024 * 1024;

/**
 * Stores created transactions, and sweeps them while device-link is unavailable. Of each claim another instance gets
 * `lost` transactions.
 */
async function sweep(count: number, bytes: number, lost = 0) {
  const transactions = bed.store.collection<TransactionDocument>(collections.transactions);
  const at = new Date(0);
  // An unknown field of the message, so that its content does not matter.
  const operation = new Uint8Array(bytes);
  operation.set([0xfa, 0x7f, ...varint(bytes - 6)]);
  await transactions.insertMany(
    Array.from({ length: count }, (_, n) => ({
      ...{ _id: n + 1, deviceId: `d-${n}`, applicationId: 'a', operationId: 'op', subject: '' },
      ...{ status: 'created', open: true, activationEpoch: 1, operation: new Binary(operation), dueAt: at },
      ...{ createdAt: at, updatedAt: at, attempts: 0, sentEpoch: 0, outboxSeq: 0 },
    })),
  );
  const store = createTransactionStore(bed.store, {
    ...{ idBlock: 10, leftoverAfterMs: 1000, progressIntervalMs: 0 },
  });
  const { log, logger } = bed;
  const clock = systemClock;
  let [claimed, ended, most, calls] = [0, 0, 0, 0];
  const link = {
    async deliver({ handOvers }: { handOvers: readonly unknown[] }) {
      calls++;
      // Gives the sweeper the time to claim further transactions.
      for (let n = 0; n < 20; n++) await transactions.findOne({ _id: 1 }, { projection: { _id: 1 } });
      ended += handOvers.length;
      throw new DomainError('unavailable', 'device-link is unavailable');
    },
  } as unknown as Client<typeof DeliveryService>;
  const outbox = createOutbox({ store, log, logger, undoActivation: async () => true });
  const canceler = createCanceler({ store, outbox, clock, withdraw: () => {} });
  const dispatcher = createDispatcher({ store, link, canceler, clock, logger });
  const sweeper = createSweeper({
    store: {
      ...store,
      async claimDue(...query) {
        const due = (await store.claimDue(...query)).slice(lost);
        claimed += due.length;
        most = Math.max(most, claimed - ended);
        return due;
      },
    },
    ...{ outbox, dispatcher, canceler, clock, logger },
    ...{ intervalMs: 1000, claimMs: 600_000, progressIntervalMs: 0 },
  });
  await sweeper.sweep();
  await dispatcher.drain();
  return { claimed, ended, most, calls };
}

function varint(value: number): number[] {
  const low = [value & 0x7f, (value >> 7) & 0x7f, (value >> 14) & 0x7f];
  return [(low[0] ?? 0) | 0x80, (low[1] ?? 0) | 0x80, (low[2] ?? 0) | 0x80, (value >> 21) & 0x7f];
}

test('while device-link is unavailable, the operations in memory do not grow with the backlog', async () => {
  const { claimed, ended, most } = await sweep(40, mebibyte);
  expect([claimed, ended]).toEqual([40, 40]);
  expect(most).toBeLessThanOrEqual(24);
});

test('small transactions are dispatched many at a time', async () => {
  const { claimed, ended, calls } = await sweep(400, 100);
  expect([claimed, ended]).toEqual([400, 400]);
  expect(calls).toBeLessThanOrEqual(400 / 8);
});

test('a sweep continues after another instance has claimed some of the transactions', async () => {
  const { claimed, ended } = await sweep(64, 100, 1);
  expect([claimed, ended]).toEqual([60, 60]);
});
