import { fromBinary } from '@bufbuild/protobuf';
import type { DeliveryService } from '@headset-cloud/proto/device_link/v1/delivery_pb.ts';
import { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { createBatcher } from '@headset-cloud/runtime/batching/batcher.ts';
import { batchPerTurn } from '@headset-cloud/runtime/batching/per-turn.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Canceler } from '../cancel/canceler.ts';
import type { Heads } from '../ports/heads.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';
import type { CanceledTransaction, Transitions } from '../ports/transitions.ts';

/** Hands new transactions to device-link (rule B5: a create stores before it asks for presence). */
export interface Delivery {
  /** Returns at once. A transaction whose hand-over fails stays 'created', and the sweeper retries. */
  deliver(transaction: StoredTransaction): void;
  /**
   * Tells the headset's session to drop canceled transactions; best effort, because the start permit
   * decides.
   */
  withdraw(transactions: readonly CanceledTransaction[], reason: string): void;
  /**
   * Has the headset's session judged again, if it is still this one; best effort, because device-link does
   * so now and then by itself (rule B5).
   */
  judgeAgain(deviceId: string, sessionEpoch: number): void;
  /** The headset may start it: a pending mark of its hand-over is out of date. */
  accepted(id: number): void;
  drain(): Promise<void>;
}

/** A transaction in the form that device-link gets. */
export function toOffer(t: StoredTransaction, attempt = t.attempts) {
  return {
    transactionId: BigInt(t.id),
    attempt,
    operationId: t.operationId,
    activationEpoch: BigInt(t.activationEpoch),
    createdAtMs: BigInt(t.createdAtMs),
    operation: fromBinary(OperationSchema, t.operation),
    traceparent: t.traceparent,
  };
}

/** Delay before a hand-over is marked as published; by then a headset that is online has accepted. */
const markAfterMs = 100;

/**
 * Largest size of one call to device-link, far below gRPC's limit, and the size of an offer without its
 * operation.
 */
const largestCallBytes = 1024 * 1024;
const offerOverheadBytes = 256;

interface HandOver {
  readonly deviceId: string;
  readonly offer: ReturnType<typeof toOffer>;
  readonly previousId: number;
  /** Size of its operation. */
  readonly bytes: number;
}

export function createDelivery(deps: {
  store: Heads & Transitions;
  link: Client<typeof DeliveryService>;
  canceler: Canceler;
  clock: Clock;
  logger: Logger;
}): Delivery {
  const { store, link, canceler, clock, logger } = deps;
  const inFlight = new Set<Promise<void>>();
  const marks = createBatcher<{ id: number; sentEpoch: number }>({
    maxItems: 500,
    maxWaitMs: markAfterMs,
    async flush(items) {
      // A transaction that was accepted meanwhile needs no mark (ADR 0005).
      const open = items.filter((m) => waiting.delete(m.id));
      if (open.length > 0) await store.markPublished(open, clock.now());
    },
    onError(error, items) {
      for (const { id } of items) waiting.delete(id);
      logger.warn({ err: error }, 'transactions not marked as published; the sweeper will');
    },
  });
  /** Transactions handed over and not marked yet. */
  const waiting = new Set<number>();

  /** Hands over; returns the epoch of the session that took it, 0 if the headset has no session. */
  const handOver = batchPerTurn<HandOver, number>({
    weight: { of: ({ bytes }) => bytes + offerOverheadBytes, most: largestCallBytes },
    async run(handOvers) {
      const { outcomes } = await link.deliver({
        handOvers: handOvers.map(({ deviceId, offer, previousId }) => ({
          deviceId,
          offer,
          previousTransactionId: BigInt(previousId),
        })),
      });
      return outcomes.map(({ kind }) =>
        kind.case === 'sessionEpoch'
          ? { value: Number(kind.value) }
          : { error: new DomainError('unavailable', 'Not handed over.', { internal: kind.value }) },
      );
    },
  });

  const deliver = async (t: StoredTransaction): Promise<void> => {
    const { floor, before } = await store.headOf(t.deviceId);
    if (floor && t.activationEpoch < floor.epoch) {
      await canceler.cancelBelowFloor(t.deviceId, floor, [t.id]);
      return;
    }
    // Decoded before it joins a batch, so that a transaction that cannot be decoded fails alone.
    const offer = toOffer(t);
    const sentEpoch = await handOver({
      deviceId: t.deviceId,
      offer,
      previousId: before(t.id),
      bytes: t.operation.length,
    });
    waiting.add(t.id);
    marks.add({ id: t.id, sentEpoch });
  };
  const track = (work: Promise<void>, onError: (error: unknown) => void): void => {
    const done = work.catch(onError);
    inFlight.add(done);
    void done.finally(() => inFlight.delete(done));
  };

  return {
    deliver(t) {
      track(deliver(t), (error) =>
        logger.warn({ transactionId: t.id, err: error }, 'not handed over yet; the sweeper will try again'),
      );
    },
    withdraw(transactions, reason) {
      const byDevice = new Map<string, bigint[]>();
      for (const t of transactions) {
        const ids = byDevice.get(t.deviceId) ?? [];
        ids.push(BigInt(t.id));
        byDevice.set(t.deviceId, ids);
      }
      for (const [deviceId, transactionIds] of byDevice) {
        track(
          link.withdraw({ deviceId, transactionIds, reason }).then(() => undefined),
          (error) => logger.debug({ deviceId, err: error }, 'not withdrawn; the start permit decides'),
        );
      }
    },
    judgeAgain(deviceId, sessionEpoch) {
      track(
        link.judgeAgain({ deviceId, sessionEpoch: BigInt(sessionEpoch) }).then(() => undefined),
        (error) => logger.debug({ deviceId, err: error }, 'not judged again now; device-link will do so'),
      );
    },
    accepted(id) {
      waiting.delete(id);
    },
    async drain() {
      while (inFlight.size > 0) await Promise.allSettled([...inFlight]);
      await marks.drain();
    },
  };
}
