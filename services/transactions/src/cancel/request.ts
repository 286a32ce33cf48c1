import { randomUUID } from 'node:crypto';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Outbox } from '../outbox.ts';
import type { Queries } from '../ports/queries.ts';
import type { Transitions } from '../ports/transitions.ts';
import type { UndoActivation } from './activations.ts';

/** Transactions that a cancel request may cancel. A repeated request uses the same plan. */
export type CancelPlan = {
  /** Identifies the request; stored in the transactions that it cancels (rule B8). */
  readonly stamp: string;
  readonly ids: readonly number[];
  /** Whether the headset had a session. */
  readonly reachable: boolean;
};

interface CancelRequest {
  readonly applicationId: string;
  readonly deviceId: string;
}

/** Plans a cancel request: covers the device's transactions that are unprocessed now (specification API 4). */
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
 * Cancels the planned transactions that may be canceled (specification API 4, rule A10), and returns their ids. All
 * runs of a plan return the same ids: states only advance, so a later run cannot cancel a transaction that an earlier
 * run could not cancel.
 */
export async function cancelTransactions(
  deps: {
    store: Transitions & Queries;
    outbox: Outbox;
    dispatcher: Dispatcher;
    undoActivation: UndoActivation;
    clock: Clock;
  },
  request: CancelRequest & { readonly plan: CancelPlan },
): Promise<number[]> {
  const { plan, ...owner } = request;
  const canceled = await deps.store.cancelByRequest({ ...owner, ...plan }, deps.clock.now());
  // Activations are undone before the answer, so that the caller then reads the device as deactivated. If devices is
  // unavailable, the outbox retries.
  await Promise.all(canceled.map(deps.undoActivation));
  for (const t of canceled) deps.outbox.publish(t);
  if (canceled.length > 0) deps.dispatcher.withdraw(canceled, 'canceled');
  return canceled.map((t) => t.id).sort((a, b) => a - b);
}
