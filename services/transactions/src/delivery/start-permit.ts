import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { tooOldMessage, type Versions } from '../domain/client-version.ts';
import { isEnd } from '../domain/state.ts';
import type { Outbox } from '../outbox.ts';
import type { Heads } from '../ports/heads.ts';
import type { Queries } from '../ports/queries.ts';
import type { Transitions } from '../ports/transitions.ts';
import type { Delivery } from './delivery.ts';

export interface PermitDependencies {
  readonly store: Heads & Transitions & Queries;
  readonly outbox: Outbox;
  readonly delivery: Pick<Delivery, 'accepted'>;
  readonly clock: Clock;
}

/** A headset that holds a transaction asks whether it may start. */
export interface PermitRequest {
  readonly transactionId: number;
  readonly deviceId: string;
  readonly sessionEpoch: number;
  /** The headset's client and firmware versions; empty: not known. */
  readonly versions: Versions;
}

/**
 * `start`: the headset may start. `revoke`: it has started, and is asked to give it up. `drop`: it must
 * forget it.
 */
export type Permit =
  | { readonly kind: 'start' }
  | { readonly kind: 'revoke' | 'drop'; readonly reason: string };

const start: Permit = { kind: 'start' };
const drop = (reason: string): Permit => ({ kind: 'drop', reason });

/**
 * The start permit: one conditional update to accepted (rule B1), with the callback that it causes. A
 * transaction that needs a newer headset ends here as a failure (rule C14). A repeated request gets an
 * answer by the current state.
 */
export async function permitStart(deps: PermitDependencies, request: PermitRequest): Promise<Permit> {
  const { store, outbox, delivery, clock } = deps;
  const { transactionId: id, deviceId, sessionEpoch, versions } = request;
  const floorEpoch = (await store.floorOf(deviceId))?.epoch ?? 0;
  const session = { deviceId, epoch: sessionEpoch };
  const accept = async (meets?: Versions): Promise<boolean> => {
    const accepted = await store.accept(id, { ...session, ...(meets && { meets }) }, floorEpoch, clock.now());
    if (!accepted) return false;
    delivery.accepted(id);
    outbox.publish(accepted);
    return true;
  };
  if (await accept()) return start;
  let t = await store.get(id);
  const minimum = t?.minimum;
  const needsSome = !t?.wish && minimum && (minimum.client || minimum.firmware);
  // A lost one may come to a headset that has an older client than the one that started it.
  const lostEpoch = t?.status === 'accepted' && t.lostEpoch <= sessionEpoch ? t.lostEpoch : 0;
  if (needsSome && (t?.status === 'created' || t?.status === 'published' || lostEpoch > 0)) {
    // Few operations need a minimum version; only they cost a second read.
    const message = tooOldMessage(versions, minimum);
    if (message === undefined) {
      if (await accept(minimum)) return start;
    } else {
      const refused = await store.refuse(id, session, floorEpoch, { message, lostEpoch }, clock.now());
      if (refused) outbox.publish(refused);
    }
    t = await store.get(id);
  }
  if (t?.deviceId !== deviceId) return drop('unknown transaction');
  // Sent to a newer session, or judged for one: that session asks for its own permit (rule B1).
  if (Math.max(t.sentEpoch, t.lostEpoch) > sessionEpoch) return drop('A newer session has it.');
  if (!isEnd(t.status) && t.activationEpoch >= floorEpoch) {
    const isNamed = t.sentEpoch === sessionEpoch && t.lostEpoch === 0;
    // Its document names this session first, so that no judgement cancels it as lost. Else it has changed since.
    if (t.status === 'accepted' && !isNamed && !(await store.found(id, session, t.lostEpoch))) {
      return permitStart(deps, request);
    }
    if (t.wish) return { kind: 'revoke', reason: t.wish };
    // It was accepted before: the permit stands.
    if (t.status === 'accepted') return start;
  }
  return drop(t.endMessage || 'The transaction is over.');
}
