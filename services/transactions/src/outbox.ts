import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type EventLog, topics } from '@headset-cloud/eventlog/types.ts';
import { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { Destination, NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { operationById } from '@headset-cloud/proto/operations.ts';
import { type Batcher, createBatcher } from '@headset-cloud/runtime/batching/batcher.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { currentTraceparent, inSpan, SpanKind } from '@headset-cloud/runtime/telemetry.ts';
import { LRUCache } from 'lru-cache';
import type { UndoActivation } from './cancel/activations.ts';
import { callbackBody, callbackId, callbackSequence, needsOperation } from './domain/callbacks.ts';
import { withoutEndedSecrets } from './domain/ended-secrets.ts';
import type { PendingCallback } from './domain/pending-callbacks.ts';
import type { OutboxStore, Published } from './ports/outbox-store.ts';
import type { StoredTransaction } from './ports/stored-transaction.ts';
import type { CanceledTransaction } from './ports/transitions.ts';

/** A transaction with pending callbacks; the callback of a cancellation does not need the operation. */
type PublishedTransaction = CanceledTransaction | StoredTransaction;

/**
 * Publishes the pending callbacks of transactions to the log, in the order of each transaction's outbox: directly after
 * the change, or by the sweeper after a crash (rule B9).
 */
export interface Outbox {
  /**
   * Starts publishing the pending callbacks. After a failure the sweeper publishes them. The promise resolves when the
   * publishing has ended, with or without success.
   */
  publish(transaction: PublishedTransaction): Promise<void>;
  /** Waits until all started publishing and clearing has ended. */
  drain(): Promise<void>;
}

export function createOutbox(deps: {
  store: OutboxStore;
  log: EventLog;
  logger: Logger;
  undoActivation: UndoActivation;
}): Outbox {
  const { store, log, logger, undoActivation } = deps;
  // By callback: resolves when this process has published the callback. Avoids most duplicates.
  const publications = new LRUCache<string, Promise<void>>({ max: 50_000 });
  // Highest outboxSeq of each transaction that this process has published.
  const newestOutboxSeq = new LRUCache<number, number>({ max: 50_000 });
  const inFlight = new Set<Promise<void>>();
  const cleared: Batcher<Published> = createBatcher({
    maxItems: 500,
    maxWaitMs: 100,
    async flush(items) {
      // The newest sequence number of a transaction includes the earlier ones.
      const last = new Map<number, (typeof items)[number]>();
      for (const item of items) {
        if (item.outboxSeq >= (last.get(item.id)?.outboxSeq ?? 0)) last.set(item.id, item);
      }
      await store.clearOutbox([...last.values()]);
    },
    onError: (error) => logger.warn({ err: error }, 'outboxes not cleared, the sweeper publishes them again'),
  });

  const publish = async (t: PublishedTransaction, fresh: readonly PendingCallback[]): Promise<void> => {
    // The call that created the transaction has ended; its trace continues from the stored trace context.
    if (t.traceparent) {
      const options = { kind: SpanKind.PRODUCER, parent: t.traceparent };
      await inSpan('notifications publish', options, () => send(t, fresh, currentTraceparent()));
    } else await send(t, fresh, '');
  };
  const send = (
    t: PublishedTransaction,
    fresh: readonly PendingCallback[],
    traceparent: string,
  ): Promise<void> =>
    log.publish(
      topics.notifications,
      fresh.map((callback) => ({
        key: t.deviceId,
        value: encode(t, callback, traceparent),
        ...(traceparent && { headers: { traceparent } }),
      })),
      // 'in-order' is sufficient: of the later writes, only the one that clears the outbox needs the published events.
      { settle: 'in-order' },
    );

  return {
    publish(t) {
      if (t.outbox.length === 0) return Promise.resolve();
      // A slow sweeper has read this transaction before a change that is published already. That change contained all
      // pending callbacks, and the progress of the older read would be published after later callbacks.
      if (t.outboxSeq < (newestOutboxSeq.get(t.id) ?? 0)) return Promise.resolve();
      newestOutboxSeq.set(t.id, t.outboxSeq);
      const earlier: Promise<void>[] = [];
      const fresh: PendingCallback[] = [];
      for (const callback of t.outbox) {
        const publication = publications.get(callbackId(t.id, callback));
        if (publication) earlier.push(publication);
        else fresh.push(callback);
      }
      // A progress report replaces the previous report, whose callback may not be published yet.
      const lastProgress = operationById(t.operationId)?.reportsProgress
        ? publications.get(progressKey(t.id))
        : undefined;
      if (lastProgress) earlier.push(lastProgress);
      // A canceled activation is undone before its callback is published. If devices is unavailable, the callback is
      // published nevertheless, and the outbox is not cleared, so that the sweeper retries.
      const undone = undoActivation(t);
      // Earlier callbacks must be in the log before the next one is published.
      const published = Promise.all([...earlier, undone]).then(() =>
        fresh.length > 0 ? publish(t, fresh) : undefined,
      );
      for (const callback of fresh) {
        publications.set(callbackId(t.id, callback), published);
        if (callback.kind === 'progress') publications.set(progressKey(t.id), published);
      }
      const done = published.then(
        async () => {
          if (!(await undone)) return;
          cleared.add({
            id: t.id,
            outboxSeq: t.outboxSeq,
            deferred: t.progressDeferredSinceMs !== undefined,
            ...(t.status === 'processed' && 'operation' in t && { operation: withoutEndedSecrets(t) }),
          });
        },
        (error) => {
          for (const callback of t.outbox) publications.delete(callbackId(t.id, callback));
          publications.delete(progressKey(t.id));
          logger.warn({ transactionId: t.id, err: error }, 'callbacks not published, the sweeper retries');
        },
      );
      inFlight.add(done);
      void done.finally(() => inFlight.delete(done));
      return done;
    },
    async drain() {
      while (inFlight.size > 0) await Promise.allSettled([...inFlight]);
      await cleared.drain();
    },
  };
}

/** Key of a transaction's newest progress callback in `publications`. */
function progressKey(transactionId: number): string {
  return `tx-${transactionId}-progress`;
}

function encode(t: PublishedTransaction, callback: PendingCallback, traceparent: string): Uint8Array {
  const kind =
    needsOperation(t.operationId, callback.kind) && 'operation' in t
      ? fromBinary(OperationSchema, t.operation).kind
      : undefined;
  const body = callbackBody(
    {
      transactionId: t.id,
      applicationId: t.applicationId,
      deviceId: t.deviceId,
      operationId: t.operationId,
      progress: t.progress,
      ...(kind && { operation: kind }),
    },
    callback,
  );
  return toBinary(
    NotificationEventSchema,
    create(NotificationEventSchema, {
      notificationId: callbackId(t.id, callback),
      applicationId: t.applicationId,
      destination: Destination.DEVICE_EVENT,
      orderKey: `tx-${t.id}`,
      sequence: callbackSequence(callback, t.progressReports),
      body: Buffer.from(JSON.stringify(body)),
      createdAtMs: BigInt(callback.takenInAtMs ?? t.updatedAtMs),
      traceparent,
      replaceable: callback.kind === 'progress',
    }),
  );
}
