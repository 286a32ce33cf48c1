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
import type { OwedCallback } from './domain/owed.ts';
import type { OutboxStore, Published } from './ports/outbox-store.ts';
import type { StoredTransaction } from './ports/stored-transaction.ts';
import type { CanceledTransaction } from './ports/transitions.ts';

/** A transaction that owes callbacks; the callback of a cancellation does not need the operation. */
type Owing = CanceledTransaction | StoredTransaction;

/**
 * Publishes the callbacks that transactions owe to the log, always from the head of a transaction's outbox:
 * at once after the change, or by the sweeper after a crash (rule B9).
 */
export interface Outbox {
  /**
   * Publishes the callbacks that the document owes; returns at once. After a failure the sweeper publishes
   * them.
   */
  publish(transaction: Owing): void;
  /** Waits until all started publishing and clearing is done. */
  drain(): Promise<void>;
}

export function createOutbox(deps: {
  store: OutboxStore;
  log: EventLog;
  logger: Logger;
  undoActivation: UndoActivation;
}): Outbox {
  const { store, log, logger, undoActivation } = deps;
  // Callbacks that this process has published (resolved) or is publishing; only avoids duplicates.
  const known = new LRUCache<string, Promise<void>>({ max: 50_000 });
  // The newest look at each document of which this process has published: outboxSeq by transaction.
  const newest = new LRUCache<number, number>({ max: 50_000 });
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
    onError: (error) => logger.warn({ err: error }, 'outboxes not cleared; the sweeper will publish again'),
  });

  const publish = async (t: Owing, fresh: readonly OwedCallback[]): Promise<void> => {
    // The call that created the transaction is over: its trace continues from the stored trace context.
    if (t.traceparent) {
      const options = { kind: SpanKind.PRODUCER, parent: t.traceparent };
      await inSpan('notifications publish', options, () => send(t, fresh, currentTraceparent()));
    } else await send(t, fresh, '');
  };
  const send = (t: Owing, fresh: readonly OwedCallback[], traceparent: string): Promise<void> =>
    log.publish(
      topics.notifications,
      fresh.map((owed) => ({
        key: t.deviceId,
        value: encode(t, owed, traceparent),
        ...(traceparent && { headers: { traceparent } }),
      })),
      // 'in-order' suffices: only the later write that clears the outbox depends on it.
      { settle: 'in-order' },
    );

  return {
    publish(t) {
      if (t.outbox.length === 0) return;
      // An older look, by a sweeper that was slow. What it owes, the newer one owed as well, unless it was published;
      // its progress has been replaced, and would come behind what followed it.
      if (t.outboxSeq < (newest.get(t.id) ?? 0)) return;
      newest.set(t.id, t.outboxSeq);
      const earlier: Promise<void>[] = [];
      const fresh: OwedCallback[] = [];
      for (const owed of t.outbox) {
        const publishing = known.get(callbackId(t.id, owed));
        if (publishing) earlier.push(publishing);
        else fresh.push(owed);
      }
      // A progress report replaces the one before, which may still be being published.
      const lastProgress = operationById(t.operationId)?.reportsProgress
        ? known.get(progressKey(t.id))
        : undefined;
      if (lastProgress) earlier.push(lastProgress);
      // Always from the head: callbacks that are being published must be in the log before the next one.
      // A canceled activation is undone before its callback is sent. If devices is unavailable, the callback is sent
      // nevertheless, and the outbox stays, so that the sweeper tries again.
      const undone = undoActivation(t);
      const published = Promise.all([...earlier, undone]).then(() =>
        fresh.length > 0 ? publish(t, fresh) : undefined,
      );
      for (const owed of fresh) {
        known.set(callbackId(t.id, owed), published);
        if (owed.kind === 'progress') known.set(progressKey(t.id), published);
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
          for (const owed of t.outbox) known.delete(callbackId(t.id, owed));
          known.delete(progressKey(t.id));
          logger.warn(
            { transactionId: t.id, err: error },
            'callbacks not published yet; the sweeper will try again',
          );
        },
      );
      inFlight.add(done);
      void done.finally(() => inFlight.delete(done));
    },
    async drain() {
      while (inFlight.size > 0) await Promise.allSettled([...inFlight]);
      await cleared.drain();
    },
  };
}

/** Key of the newest known progress of a transaction. */
function progressKey(transactionId: number): string {
  return `tx-${transactionId}-progress`;
}

function encode(t: Owing, owed: OwedCallback, traceparent: string): Uint8Array {
  const kind =
    needsOperation(t.operationId, owed.kind) && 'operation' in t
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
    owed,
  );
  return toBinary(
    NotificationEventSchema,
    create(NotificationEventSchema, {
      notificationId: callbackId(t.id, owed),
      applicationId: t.applicationId,
      destination: Destination.DEVICE_EVENT,
      orderKey: `tx-${t.id}`,
      sequence: callbackSequence(owed, t.progressReports),
      body: Buffer.from(JSON.stringify(body)),
      createdAtMs: BigInt(owed.takenInAtMs ?? t.updatedAtMs),
      traceparent,
      replaceable: owed.kind === 'progress',
    }),
  );
}
