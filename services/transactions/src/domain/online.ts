import { resetOperation } from './forms/operations.ts';
import { cancelMessages, type Status } from './state.ts';

/** An unprocessed transaction, as far as its re-delivery is judged. */
export interface OpenTransaction {
  readonly id: number;
  readonly status: Status;
  readonly operationId: string;
  /** Empty, or "package@version" (latest is judged per package and version for updates). */
  readonly subject: string;
  readonly activationEpoch: number;
  /** Deliveries to a session that ended without the headset keeping it. */
  readonly attempts: number;
  /** The newest session it was written to; 0 if none. */
  readonly sentEpoch: number;
}

export interface OnlineJudgement {
  /** In order of id, with the number of the attempt. */
  readonly offer: readonly { readonly id: number; readonly attempts: number }[];
  readonly cancel: readonly { readonly id: number; readonly message: string }[];
}

/** What a session's headset holds; true: finished, its result is on the way. */
type Held = ReadonlyMap<number, boolean>;

/** True: an earlier session got it, and the headset that is back knows nothing of it. */
export function isGone(
  t: Pick<OpenTransaction, 'id' | 'sentEpoch'>,
  session: { readonly epoch: number; readonly held: Held },
): boolean {
  return t.sentEpoch > 0 && t.sentEpoch < session.epoch && !session.held.has(t.id);
}

/**
 * What happens to a device's unprocessed transactions when its headset comes online (specification
 * section 4; rulings A11, B4, B6): what is below the floor is canceled, the newest of each
 * operation is sent again, the older ones are canceled, and so is one that has been written to too
 * many sessions without being kept. What the headset has already finished is left to its report. An
 * accepted reset is offered only to a headset that still holds it: one that is back without it is
 * done, and ends by its hello (ruling B7).
 */
export function judgeOnline(
  open: readonly OpenTransaction[],
  session: {
    readonly epoch: number;
    readonly held: Held;
    readonly floor: { readonly epoch: number; readonly message: string };
    readonly retryLimit: number;
  },
): OnlineJudgement {
  const ordered = [...open].sort((a, b) => a.id - b.id);
  const latest = new Map<string, number>();
  for (const t of ordered) {
    if (t.activationEpoch >= session.floor.epoch && !isRunningReset(t)) latest.set(key(t), t.id);
  }
  const offer: { id: number; attempts: number }[] = [];
  const cancel: { id: number; message: string }[] = [];
  for (const t of ordered) {
    if (t.activationEpoch < session.floor.epoch) {
      cancel.push({ id: t.id, message: session.floor.message });
      continue;
    }
    if (session.held.get(t.id) === true) continue;
    if (isRunningReset(t)) {
      if (session.held.has(t.id)) offer.push({ id: t.id, attempts: t.attempts });
      continue;
    }
    if (latest.get(key(t)) !== t.id) {
      cancel.push({ id: t.id, message: cancelMessages.newer });
      continue;
    }
    const attempts = t.attempts + (isGone(t, session) ? 1 : 0);
    if (attempts >= session.retryLimit) cancel.push({ id: t.id, message: cancelMessages.retryLimit });
    else offer.push({ id: t.id, attempts });
  }
  return { offer, cancel };
}

function isRunningReset(t: OpenTransaction): boolean {
  return t.operationId === resetOperation && t.status === 'accepted';
}

function key(t: OpenTransaction): string {
  return `${t.operationId} ${t.subject}`;
}
