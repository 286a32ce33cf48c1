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
import type { DeviceCountersStore } from '../ports/device-counters.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';
import type { CanceledTransaction, Transitions } from '../ports/transitions.ts';

/** Dispatches transactions to device-link. A transaction is stored before its dispatch (rule B5). */
export interface Dispatcher {
  /**
   * Starts the dispatch. After a failure the transaction stays 'created', and the sweeper retries. The promise resolves
   * when the dispatch has ended, with or without success.
   */
  dispatch(transaction: StoredTransaction): Promise<void>;
  /** Requests the headset's session to drop canceled transactions; best effort, because the start grant decides. */
  withdraw(transactions: readonly CanceledTransaction[], reason: string): void;
  /**
   * Requests another reconciliation of the session, if it is still the headset's session; best effort, because
   * device-link repeats it from time to time (rule B5).
   */
  reconcileAgain(deviceId: string, sessionEpoch: number): void;
  /** Reports that a transaction was accepted, so that it is not marked as published. */
  accepted(id: number): void;
  drain(): Promise<void>;
}

/** Encodes a transaction for device-link. */
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

/**
 * Delay before a dispatched transaction is marked as published; milliseconds. Most online headsets accept the
 * transaction within this time, and then no mark is written.
 */
const markAfterMs = 100;

/** Maximum size of a call to device-link, far below gRPC's limit. */
const maxCallBytes = 1024 * 1024;
/** Size of an offer without its operation. */
const offerOverheadBytes = 256;

interface Dispatch {
  readonly deviceId: string;
  readonly offer: ReturnType<typeof toOffer>;
  readonly previousId: number;
  /** Size of the operation. */
  readonly bytes: number;
}

export function createDispatcher(deps: {
  store: DeviceCountersStore & Transitions;
  link: Client<typeof DeliveryService>;
  canceler: Canceler;
  clock: Clock;
  logger: Logger;
}): Dispatcher {
  const { store, link, canceler, clock, logger } = deps;
  const inFlight = new Set<Promise<void>>();
  const marks = createBatcher<{ id: number; sentEpoch: number }>({
    maxItems: 500,
    maxWaitMs: markAfterMs,
    async flush(items) {
      // Transactions that were accepted meanwhile are no longer in the set, and need no mark (ADR 0005).
      const notAccepted = items.filter((m) => toMark.delete(m.id));
      if (notAccepted.length > 0) await store.markPublished(notAccepted, clock.now());
    },
    onError(error, items) {
      for (const { id } of items) toMark.delete(id);
      logger.warn({ err: error }, 'transactions not marked as published, the sweeper retries');
    },
  });
  /** Dispatched transactions that are to be marked as published. */
  const toMark = new Set<number>();

  /** Dispatches a transaction; returns the epoch of the headset's session, 0: no session. */
  const send = batchPerTurn<Dispatch, number>({
    weight: { of: ({ bytes }) => bytes + offerOverheadBytes, most: maxCallBytes },
    async run(dispatches) {
      const { outcomes } = await link.deliver({
        handOvers: dispatches.map(({ deviceId, offer, previousId }) => ({
          deviceId,
          offer,
          previousTransactionId: BigInt(previousId),
        })),
      });
      return outcomes.map(({ kind }) =>
        kind.case === 'sessionEpoch'
          ? { value: Number(kind.value) }
          : { error: new DomainError('unavailable', 'Not dispatched.', { internal: kind.value }) },
      );
    },
  });

  const dispatch = async (t: StoredTransaction): Promise<void> => {
    const { minimumEpoch, before } = await store.countersOf(t.deviceId);
    if (minimumEpoch && t.activationEpoch < minimumEpoch.epoch) {
      await canceler.cancelBelowMinimumEpoch(t.deviceId, minimumEpoch, [t.id]);
      return;
    }
    // Decoded before it joins a batch, so that a transaction that cannot be decoded fails alone.
    const offer = toOffer(t);
    const sentEpoch = await send({
      deviceId: t.deviceId,
      offer,
      previousId: before(t.id),
      bytes: t.operation.length,
    });
    toMark.add(t.id);
    marks.add({ id: t.id, sentEpoch });
  };
  const track = (work: Promise<void>, onError: (error: unknown) => void): Promise<void> => {
    const done = work.catch(onError);
    inFlight.add(done);
    void done.finally(() => inFlight.delete(done));
    return done;
  };

  return {
    dispatch(t) {
      return track(dispatch(t), (error) =>
        logger.warn({ transactionId: t.id, err: error }, 'not dispatched, the sweeper retries'),
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
        void track(
          link.withdraw({ deviceId, transactionIds, reason }).then(() => undefined),
          (error) => logger.debug({ deviceId, err: error }, 'not withdrawn, the start grant decides'),
        );
      }
    },
    reconcileAgain(deviceId, sessionEpoch) {
      void track(
        link.judgeAgain({ deviceId, sessionEpoch: BigInt(sessionEpoch) }).then(() => undefined),
        (error) =>
          logger.debug(
            { deviceId, err: error },
            'reconciliation not requested, device-link repeats it later',
          ),
      );
    },
    accepted(id) {
      toMark.delete(id);
    },
    async drain() {
      while (inFlight.size > 0) await Promise.allSettled([...inFlight]);
      await marks.drain();
    },
  };
}
