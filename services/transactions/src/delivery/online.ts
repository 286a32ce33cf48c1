import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Canceler } from '../cancel/canceler.ts';
import { floorMessage } from '../cancel/canceler.ts';
import {
  type Cancellation,
  isLost,
  judgeAgain,
  judgeOnline,
  type Mark,
  type OnlineSession,
} from '../domain/online.ts';
import type { Heads } from '../ports/heads.ts';
import type { Queries } from '../ports/queries.ts';
import type { Seen, Transitions } from '../ports/transitions.ts';
import { readOffers, type ToOffer } from './offers.ts';

export interface OnlineAnswer {
  /** In order of id. */
  readonly offers: readonly ToOffer[];
  /** Held as started, and allowed to continue. */
  readonly starts: readonly number[];
  /** Held as started, and to be given up if that is still possible. */
  readonly revocations: readonly { readonly id: number; readonly message: string }[];
  /**
   * Transactions to drop: those that the headset holds but that have ended; in a repeated judgement, those
   * that it canceled.
   */
  readonly drops: readonly number[];
  /** The device's highest id at the judgement. */
  readonly through: number;
}

interface OnlineDeps {
  readonly store: Heads & Transitions & Queries;
  readonly canceler: Canceler;
  readonly clock: Clock;
  readonly retryLimit: number;
  readonly retryIntervalMs: number;
}

type JudgedSession = Pick<OnlineSession, 'epoch' | 'held' | 'knowsRevoke' | 'afterUnresponsive'> & {
  readonly deviceId: string;
  /** The session was judged before. */
  readonly again: boolean;
  /** device-link can read operations later, so the answer may leave them out. */
  readonly readsOffers: boolean;
};

/**
 * Judges a session that has begun, or judges it again: cancels, marks, and returns what to send (rules B5,
 * B6). It may be repeated for the same session at any time, because marked transactions are not counted
 * again. If a transaction was started between the read and its cancellation, the judgement is repeated
 * (rule B1); states only go forward, so this terminates.
 */
export async function takeOnline(deps: OnlineDeps, session: JudgedSession): Promise<OnlineAnswer> {
  for (;;) {
    const answer = await judge(deps, session);
    if (answer) return answer;
  }
}

/** Undefined: a transaction that was to be canceled has changed meanwhile. */
async function judge(deps: OnlineDeps, session: JudgedSession): Promise<OnlineAnswer | undefined> {
  const { store, canceler, clock, retryLimit, retryIntervalMs } = deps;
  const [open, { floor: stored, lastId }] = await Promise.all([
    store.openOfDevice(session.deviceId),
    store.headOf(session.deviceId),
  ]);
  const byId = new Map(open.map((t) => [t.id, t]));
  const floor = stored ? { epoch: stored.epoch, message: floorMessage(stored) } : { epoch: 0, message: '' };
  const now = clock.now();
  const lost = open.filter((t) => isLost(t, session));
  const superseded = lost.length > 0 ? await store.supersededOf(lost, session.deviceId) : new Set<number>();
  const limits = { floor, superseded, retryLimit, retryIntervalMs, now };
  const judged = session.again
    ? judgeAgain(open, { ...session, ...limits })
    : judgeOnline(open, { ...session, ...limits });
  // Transactions below the floor are canceled even if they run.
  const asSeen = ({ id, sentEpoch = session.epoch, lostEpoch }: Cancellation): Seen | undefined => {
    const t = byId.get(id);
    if (!t || t.activationEpoch < floor.epoch) return undefined;
    return { accepted: t.status === 'accepted', epoch: sentEpoch, ...(lostEpoch && { lostEpoch }) };
  };
  const groups = Map.groupBy(judged.cancel, (c) => JSON.stringify([asSeen(c), c.message]));
  const moved = await Promise.all(
    [...groups.values()].map(async (group) => {
      const { message } = group[0] as Cancellation;
      const seen = asSeen(group[0] as Cancellation);
      const canceled = await canceler.cancel(
        group.map((c) => c.id),
        message,
        seen,
      );
      return seen !== undefined && canceled.length < group.length;
    }),
  );
  if (moved.includes(true)) return undefined;
  const changes = (mark: Mark): boolean => {
    const t = byId.get(mark.id);
    return t?.status === 'created' || (t?.sentEpoch ?? 0) < session.epoch || mark.wish !== undefined;
  };
  // Marked before sending: a retry may be counted too often, but never missed.
  await store.markJudged(
    [...judged.offer, ...judged.start, ...judged.revoke, ...judged.keep].filter(changes),
    session.epoch,
    now,
  );
  const wanted = new Set([...judged.offer, ...judged.start, ...judged.revoke].map(({ id }) => id));
  return {
    through: lastId,
    offers: await readOffers(store, judged.offer, session.readsOffers),
    starts: judged.start.map(({ id }) => id),
    revocations: judged.revoke.map(({ id, wish }) => ({ id, message: wish ?? '' })),
    // A repeated judgement does not know what the session holds now: only a hello says what it holds.
    drops: session.again
      ? judged.cancel.map(({ id }) => id)
      : [...session.held].filter(([id, held]) => held !== 'finished' && !wanted.has(id)).map(([id]) => id),
  };
}
