import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Canceler } from './cancel.ts';
import { floorMessage } from './cancel.ts';
import { judgeOnline } from './domain/online.ts';
import type { StoredTransaction, TransactionStore } from './ports.ts';

export interface OnlineAnswer {
  /** In order of id, with the attempt to write into the offer. */
  readonly offers: readonly { readonly transaction: StoredTransaction; readonly attempt: number }[];
  /** What the headset holds in vain. */
  readonly drops: readonly number[];
}

/** A session has begun: judges, cancels, marks, and answers what to send (ruling B5, B6). */
export async function takeOnline(
  deps: { store: TransactionStore; canceler: Canceler; clock: Clock; retryLimit: number },
  session: { deviceId: string; epoch: number; held: ReadonlyMap<number, boolean> },
): Promise<OnlineAnswer> {
  const { store, canceler, clock } = deps;
  const [open, floor] = await Promise.all([
    store.openOfDevice(session.deviceId),
    store.floorOf(session.deviceId),
  ]);
  const judged = judgeOnline(open, {
    epoch: session.epoch,
    held: session.held,
    floor: floor ? { epoch: floor.epoch, message: floorMessage(floor) } : { epoch: 0, message: '' },
    retryLimit: deps.retryLimit,
  });
  const byMessage = Map.groupBy(judged.cancel, (c) => c.message);
  await Promise.all(
    [...byMessage].map(([message, list]) =>
      canceler.cancel(
        list.map((c) => c.id),
        message,
      ),
    ),
  );
  // Marked before it is sent: a retry may be counted too often, never too seldom.
  await store.markSent(
    judged.offer.map(({ id, attempts }) => ({ id, attempts, sentEpoch: session.epoch })),
    clock.now(),
  );
  const byId = new Map(open.map((t) => [t.id, t]));
  const offered = new Set(judged.offer.map((o) => o.id));
  return {
    offers: judged.offer.map(({ id, attempts }) => ({
      transaction: byId.get(id) as StoredTransaction,
      attempt: attempts,
    })),
    drops: [...session.held].filter(([id, finished]) => !finished && !offered.has(id)).map(([id]) => id),
  };
}
