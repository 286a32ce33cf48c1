import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { tooOldMessage, type Versions } from '../domain/client-version.ts';
import { isEnd } from '../domain/state.ts';
import type { Outbox } from '../outbox.ts';
import type { DeviceCountersStore } from '../ports/device-counters.ts';
import type { Queries } from '../ports/queries.ts';
import type { Transitions } from '../ports/transitions.ts';
import type { Dispatcher } from './dispatcher.ts';

export interface StartGrantDependencies {
  readonly store: DeviceCountersStore & Transitions & Queries;
  readonly outbox: Outbox;
  readonly dispatcher: Pick<Dispatcher, 'accepted'>;
  readonly clock: Clock;
}

/** A headset's request to start a transaction that it holds as offered. */
export interface StartRequest {
  readonly transactionId: number;
  readonly deviceId: string;
  readonly sessionEpoch: number;
  /** Versions of the headset's client and firmware; empty: unknown. */
  readonly versions: Versions;
}

/** `start`: the headset may start. `revoke`: the headset may have started and must give up. `drop`: it must forget. */
export type StartAnswer =
  | { readonly kind: 'start' }
  | { readonly kind: 'revoke' | 'drop'; readonly reason: string };

const start: StartAnswer = { kind: 'start' };
const drop = (reason: string): StartAnswer => ({ kind: 'drop', reason });

/**
 * Gives the start grant: one conditional update to accepted, with its callback (rule B1). Fails a transaction that
 * needs a newer headset (rule C14). A repeated request is answered by the current state.
 */
export async function grantStart(deps: StartGrantDependencies, request: StartRequest): Promise<StartAnswer> {
  const { store, outbox, dispatcher, clock } = deps;
  const { transactionId: id, deviceId, sessionEpoch, versions } = request;
  const minActivationEpoch = (await store.minimumEpochOf(deviceId))?.epoch ?? 0;
  const session = { deviceId, epoch: sessionEpoch };
  const accept = async (meets?: Versions): Promise<boolean> => {
    const accepted = await store.accept(
      id,
      { ...session, ...(meets && { meets }) },
      minActivationEpoch,
      clock.now(),
    );
    if (!accepted) return false;
    dispatcher.accepted(id);
    outbox.publish(accepted);
    return true;
  };
  if (await accept()) return start;
  let t = await store.get(id);
  const minimum = t?.minimum;
  const mustMeet = !t?.cancelRequested && minimum && (minimum.client || minimum.firmware);
  // A lost transaction is checked again: the headset may have an older client than when it started the transaction.
  const lostEpoch = t?.status === 'accepted' && t.lostEpoch <= sessionEpoch ? t.lostEpoch : 0;
  if (mustMeet && (t?.status === 'created' || t?.status === 'published' || lostEpoch > 0)) {
    // Few operations have minimum versions; only these need a second read.
    const message = tooOldMessage(versions, minimum);
    if (message === undefined) {
      if (await accept(minimum)) return start;
    } else {
      const rejected = await store.rejectStart(
        id,
        session,
        minActivationEpoch,
        { message, lostEpoch },
        clock.now(),
      );
      if (rejected) outbox.publish(rejected);
    }
    t = await store.get(id);
  }
  if (t?.deviceId !== deviceId) return drop('unknown transaction');
  // A newer session has the transaction, and requests its own start grant (rule B1).
  if (Math.max(t.sentEpoch, t.lostEpoch) > sessionEpoch) return drop('A newer session has it.');
  if (!isEnd(t.status) && t.activationEpoch >= minActivationEpoch) {
    const namesSession = t.sentEpoch === sessionEpoch && t.lostEpoch === 0;
    // The document must name this session first, so that no reconciliation cancels the transaction as lost. If
    // `markFound` fails, the document has changed, and the request is repeated.
    if (t.status === 'accepted' && !namesSession && !(await store.markFound(id, session, t.lostEpoch))) {
      return grantStart(deps, request);
    }
    if (t.cancelRequested) return { kind: 'revoke', reason: t.cancelRequested };
    // The transaction was accepted by an earlier request, and that start grant is still valid.
    if (t.status === 'accepted') return start;
  }
  return drop(t.endMessage || 'The transaction is over.');
}
