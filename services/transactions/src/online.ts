import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Canceler } from './cancel.ts';
import { floorMessage } from './cancel.ts';
import { judgeAgain, judgeOnline, type Mark, type OnlineSession } from './domain/online.ts';
import { readOffers, type ToOffer } from './offers.ts';
import type { TransactionStore } from './ports.ts';

export interface OnlineAnswer {
  /** In order of id. */
  readonly offers: readonly ToOffer[];
  /** Held as started, and may go on. */
  readonly starts: readonly number[];
  /** Held as started, and to be left if that is still possible. */
  readonly revocations: readonly { readonly id: number; readonly message: string }[];
  /** What the headset holds in vain. */
  readonly drops: readonly number[];
}

/**
 * A session has begun, or is judged again: judges, cancels, marks, and answers what to send (rulings
 * B5, B6). May be repeated with the same session at any time: what it marked, it counts no more.
 */
export async function takeOnline(
  deps: {
    store: TransactionStore;
    canceler: Canceler;
    clock: Clock;
    retryLimit: number;
    retryIntervalMs: number;
  },
  session: Pick<OnlineSession, 'epoch' | 'held' | 'knowsRevoke' | 'afterUnresponsive'> & {
    readonly deviceId: string;
    /** It was judged before. */
    readonly again: boolean;
    /** Operations may be left out: they are read later. */
    readonly readsOffers: boolean;
  },
): Promise<OnlineAnswer> {
  const { store, canceler, clock, retryLimit, retryIntervalMs } = deps;
  const [open, stored] = await Promise.all([
    store.openOfDevice(session.deviceId),
    store.floorOf(session.deviceId),
  ]);
  const floor = stored ? { epoch: stored.epoch, message: floorMessage(stored) } : { epoch: 0, message: '' };
  const now = clock.now();
  const judged = session.again
    ? judgeAgain(open, { epoch: session.epoch, floor })
    : judgeOnline(open, { ...session, floor, retryLimit, retryIntervalMs, now });
  const byMessage = Map.groupBy(judged.cancel, (c) => c.message);
  await Promise.all(
    [...byMessage].map(([message, list]) =>
      canceler.cancel(
        list.map((c) => c.id),
        message,
      ),
    ),
  );
  const byId = new Map(open.map((t) => [t.id, t]));
  const changes = (mark: Mark): boolean => {
    const t = byId.get(mark.id);
    return t?.status === 'created' || (t?.sentEpoch ?? 0) < session.epoch || mark.wish !== undefined;
  };
  // Marked before it is sent: a retry may be counted too often, never too seldom.
  await store.markJudged(
    [...judged.offer, ...judged.start, ...judged.revoke].filter(changes),
    session.epoch,
    now,
  );
  const wanted = new Set([...judged.offer, ...judged.start, ...judged.revoke].map(({ id }) => id));
  return {
    offers: await readOffers(store, judged.offer, session.readsOffers),
    starts: judged.start.map(({ id }) => id),
    revocations: judged.revoke.map(({ id, wish }) => ({ id, message: wish ?? '' })),
    // What a session holds by now was not told again: only its hello says what it holds in vain.
    drops: session.again
      ? []
      : [...session.held].filter(([id, held]) => held !== 'finished' && !wanted.has(id)).map(([id]) => id),
  };
}
