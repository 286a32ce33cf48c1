import { randomUUID } from 'node:crypto';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { Outbox } from '../outbox.ts';
import type { Queries } from '../ports/queries.ts';
import type { Transitions } from '../ports/transitions.ts';
import type { UndoActivation } from './activations.ts';

/**
 * The transactions that one cancel request may cancel. Decided once: a repeat of the request uses the same
 * plan.
 */
export type CancelPlan = {
  /** Identifies the request; transactions that it cancels carry this stamp (rule B8). */
  readonly stamp: string;
  readonly ids: readonly number[];
  /** Whether the headset could be reached. */
  readonly reachable: boolean;
};

interface CancelRequest {
  readonly applicationId: string;
  readonly deviceId: string;
}

/**
 * Decides which transactions a cancel request covers (specification API 4): the device's unprocessed ones
 * at this moment.
 */
export async function planCancel(
  deps: {
    store: Transitions & Queries;
    reachable: (deviceId: string) => Promise<boolean>;
    /** Throws unless the application has the device activated (rule A3). */
    requireActivated: (applicationId: string, deviceId: string) => Promise<void>;
  },
  { applicationId, deviceId }: CancelRequest,
): Promise<CancelPlan> {
  await deps.requireActivated(applicationId, deviceId);
  const reachable = await deps.reachable(deviceId);
  const open = await deps.store.openOfDevice(deviceId);
  const ids = open.filter((t) => t.applicationId === applicationId).map((t) => t.id);
  return { stamp: randomUUID(), ids, reachable };
}

/**
 * Cancels the planned transactions that may be canceled (specification API 4, rule A10); returns exactly
 * those ids. States only go forward, so a transaction that one run could not cancel cannot be canceled by a
 * later run: all runs of a plan return the same ids.
 */
export async function cancelTransactions(
  deps: {
    store: Transitions & Queries;
    outbox: Outbox;
    delivery: Delivery;
    undoActivation: UndoActivation;
    clock: Clock;
  },
  request: CancelRequest & { readonly plan: CancelPlan },
): Promise<number[]> {
  const { plan, ...owner } = request;
  const canceled = await deps.store.cancelByRequest({ ...owner, ...plan }, deps.clock.now());
  // The caller reads the device as deactivated after the answer. While devices is unavailable, the outbox retries.
  await Promise.all(canceled.map(deps.undoActivation));
  for (const t of canceled) deps.outbox.publish(t);
  if (canceled.length > 0) deps.delivery.withdraw(canceled, 'canceled');
  return canceled.map((t) => t.id).sort((a, b) => a - b);
}
