import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Canceler } from '../cancel/canceler.ts';
import { minimumEpochMessage } from '../cancel/canceler.ts';
import {
  type Cancellation,
  isLost,
  type Mark,
  type OnlineSession,
  reconcileAgain,
  reconcileOnline,
} from '../domain/online.ts';
import type { DeviceCountersStore } from '../ports/device-counters.ts';
import type { Queries } from '../ports/queries.ts';
import type { ReadState, Transitions } from '../ports/transitions.ts';
import { type Offer, readOffers } from './offers.ts';

/** Messages to send to a session after its reconciliation. */
export interface OnlineAnswer {
  /** In order of id. */
  readonly offers: readonly Offer[];
  /** Ids of transactions that the headset holds as started and that continue. */
  readonly starts: readonly number[];
  /** Transactions that the headset holds as started and must give up, if that is still possible. */
  readonly revocations: readonly { readonly id: number; readonly message: string }[];
  /**
   * Ids to drop: ended transactions that the headset holds; in a repeated reconciliation, the canceled transactions.
   */
  readonly drops: readonly number[];
  /** Highest id of the device at the reconciliation. */
  readonly through: number;
}

interface OnlineDeps {
  readonly store: DeviceCountersStore & Transitions & Queries;
  readonly canceler: Canceler;
  readonly clock: Clock;
  readonly retryLimit: number;
  readonly retryIntervalMs: number;
}

type ReconciledSession = Pick<OnlineSession, 'epoch' | 'held' | 'knowsRevoke' | 'afterUnresponsive'> & {
  readonly deviceId: string;
  /** Whether this repeats the session's first reconciliation. */
  readonly again: boolean;
  /** Whether device-link reads missing operations later, so that the answer may omit them. */
  readonly readsOffers: boolean;
};

/**
 * Reconciles a session: cancels and marks transactions, and returns the messages to send (rules B5, B6). May be
 * repeated for a session at any time, because a retry in the same session is not counted again. If a transaction was
 * started between its read and its cancellation, the reconciliation is repeated (rule B1). This terminates, because
 * states only advance.
 */
export async function reconcileSession(deps: OnlineDeps, session: ReconciledSession): Promise<OnlineAnswer> {
  for (;;) {
    const answer = await reconcileOnce(deps, session);
    if (answer) return answer;
  }
}

/** Returns undefined if a transaction to cancel has changed since its read. */
async function reconcileOnce(
  deps: OnlineDeps,
  session: ReconciledSession,
): Promise<OnlineAnswer | undefined> {
  const { store, canceler, clock, retryLimit, retryIntervalMs } = deps;
  const [open, { minimumEpoch: stored, lastId }] = await Promise.all([
    store.openOfDevice(session.deviceId),
    store.countersOf(session.deviceId),
  ]);
  const byId = new Map(open.map((t) => [t.id, t]));
  const minimumEpoch = stored
    ? { epoch: stored.epoch, message: minimumEpochMessage(stored) }
    : { epoch: 0, message: '' };
  const now = clock.now();
  const lost = open.filter((t) => isLost(t, session));
  const superseded = lost.length > 0 ? await store.supersededOf(lost, session.deviceId) : new Set<number>();
  const limits = { minimumEpoch, superseded, retryLimit, retryIntervalMs, now };
  const reconciled = session.again
    ? reconcileAgain(open, { ...session, ...limits })
    : reconcileOnline(open, { ...session, ...limits });
  // Transactions below the minimum activation epoch are canceled in every state.
  const readStateOf = ({ id, sentEpoch = session.epoch, lostEpoch }: Cancellation): ReadState | undefined => {
    const t = byId.get(id);
    if (!t || t.activationEpoch < minimumEpoch.epoch) return undefined;
    return { accepted: t.status === 'accepted', epoch: sentEpoch, ...(lostEpoch && { lostEpoch }) };
  };
  if (!(await cancelUnchanged(canceler, reconciled.cancel, readStateOf))) return undefined;
  const needsWrite = (mark: Mark): boolean => {
    const t = byId.get(mark.id);
    return (
      t?.status === 'created' || (t?.sentEpoch ?? 0) < session.epoch || mark.cancelRequested !== undefined
    );
  };
  // Written before the messages are sent: a retry may be counted too often, but is never missed.
  await store.markReconciled(
    [...reconciled.offer, ...reconciled.start, ...reconciled.revoke, ...reconciled.keep].filter(needsWrite),
    session.epoch,
    now,
  );
  const continued = new Set(
    [...reconciled.offer, ...reconciled.start, ...reconciled.revoke].map(({ id }) => id),
  );
  return {
    through: lastId,
    offers: await readOffers(store, reconciled.offer, session.readsOffers),
    starts: reconciled.start.map(({ id }) => id),
    revocations: reconciled.revoke.map(({ id, cancelRequested }) => ({ id, message: cancelRequested ?? '' })),
    // Only a hello lists the held transactions, so a repeated reconciliation does not know them.
    drops: session.again
      ? reconciled.cancel.map(({ id }) => id)
      : [...session.held].filter(([id, held]) => held !== 'finished' && !continued.has(id)).map(([id]) => id),
  };
}

/** Cancels transactions that are still in the state in which they were read. False: some have changed since. */
async function cancelUnchanged(
  canceler: Canceler,
  cancellations: readonly Cancellation[],
  readStateOf: (cancellation: Cancellation) => ReadState | undefined,
): Promise<boolean> {
  const groups = Map.groupBy(cancellations, (c) => JSON.stringify([readStateOf(c), c.message]));
  const areComplete = await Promise.all(
    [...groups.values()].map(async (group) => {
      const { message } = group[0] as Cancellation;
      const readState = readStateOf(group[0] as Cancellation);
      const canceled = await canceler.cancel(
        group.map((c) => c.id),
        message,
        readState,
      );
      return readState === undefined || canceled.length >= group.length;
    }),
  );
  return !areComplete.includes(false);
}
