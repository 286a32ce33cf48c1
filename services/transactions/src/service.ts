import { randomUUID } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import { currentTraceparent } from '@headset-cloud/kit/telemetry.ts';
import { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import {
  type CreateTransactionRequest,
  FloorReason,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Canceler } from './cancel.ts';
import type { Delivery } from './delivery.ts';
import { queueFirmware } from './firmware.ts';
import type { Outbox } from './outbox.ts';
import type { Floor, StoredTransaction, TransactionStore } from './ports.ts';

export interface CreateDeps {
  readonly store: TransactionStore;
  readonly outbox: Outbox;
  readonly delivery: Delivery;
  readonly canceler: Canceler;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
}

/**
 * Creates a transaction; idempotent where the request names the id (rule B8). The device's head is
 * raised first, so that a create which saw an activation that is over is refused, and one that was
 * overtaken by a floor finds out when it is delivered (rule B4).
 */
export async function createTransaction(
  deps: CreateDeps,
  request: CreateTransactionRequest,
): Promise<number> {
  const { store, failpoints } = deps;
  const epoch = Number(request.activationEpoch);
  const floor = floorOf(request, epoch);
  const given = Number(request.transactionId);
  let id = given;
  for (let attempt = 0; ; attempt++) {
    if (!given) id = await store.drawId();
    const raise = await store.raiseHead(
      request.deviceId,
      { id, epoch, mustRise: !given, floor },
      deps.clock.now(),
    );
    if (raise === 'raised' && (await isQueued(deps, request, id))) break;
    if (raise === 'epoch-too-old') {
      // A repeat of a create that succeeded before the activation ended still answers its id.
      if (given && (await store.get(given))?.deviceId === request.deviceId) return given;
      throw new DomainError('device_not_activated', 'The device is not activated.');
    }
    // Another process has drawn higher ids for this device: a fresh block is above them.
    store.dropIdBlock();
    if (attempt === 5) throw new DomainError('conflict', 'Too many calls for this device at once.');
  }
  failpoints('transactions.raised');
  const stored = await store.insert(
    {
      id,
      deviceId: request.deviceId,
      applicationId: request.applicationId,
      operationId: request.operationId,
      subject: request.subject,
      activationEpoch: epoch,
      operation: request.operation ? toBinary(OperationSchema, request.operation) : new Uint8Array(),
      traceparent: currentTraceparent(),
      minimum: { client: request.minimumClientVersion, firmware: request.minimumFirmwareVersion },
      ...(request.failMessage && { failMessage: request.failMessage }),
    },
    deps.clock.now(),
  );
  failpoints('transactions.inserted');
  if (floor) await deps.canceler.cancelBelowFloor(request.deviceId, floor);
  if (stored) {
    if (stored.outbox.length > 0) deps.outbox.publish(stored);
    else deps.delivery.deliver(stored);
  } else {
    const existing = await assertSame(store, id, request);
    // Whoever stored it may have died before it was handed over: the caller's next ones stand behind it.
    if (existing.status === 'created') deps.delivery.deliver(existing);
  }
  return id;
}

/**
 * Takes a firmware update into its device's queue; throws where it would be a downgrade. False: another
 * call with a higher id came first, so that this one needs a higher id yet.
 */
async function isQueued(
  { store, clock }: CreateDeps,
  { deviceId, operation, transactionId, activationEpoch }: CreateTransactionRequest,
  id: number,
): Promise<boolean> {
  if (operation?.kind.case !== 'updateFirmware') return true;
  // A repeat answers what it did, whatever was asked for since.
  if (transactionId && (await store.get(id))) return true;
  const { version } = operation.kind.value;
  const asked = { id, version, activationEpoch: Number(activationEpoch), atMs: clock.now() };
  return queueFirmware(store, deviceId, asked, transactionId > 0n);
}

function floorOf(request: CreateTransactionRequest, epoch: number): Floor | undefined {
  switch (request.raisesFloor) {
    case FloorReason.DEACTIVATION:
      return { epoch, reason: 'deactivation' };
    case FloorReason.RESET:
      return { epoch, reason: 'reset' };
    default:
      return undefined;
  }
}

async function assertSame(
  store: TransactionStore,
  id: number,
  request: CreateTransactionRequest,
): Promise<StoredTransaction> {
  const existing = await store.get(id);
  const same =
    existing?.deviceId === request.deviceId &&
    existing.applicationId === request.applicationId &&
    existing.operationId === request.operationId;
  if (!existing || !same)
    throw new DomainError('internal', 'Internal error.', { internal: `transaction id ${id} is taken` });
  return existing;
}

/** What one cancel request may cancel, judged once: a repeat of the request does not judge anew. */
export type CancelPlan = {
  /** Names the request; what it cancels bears this stamp (rule B8). */
  readonly stamp: string;
  readonly ids: readonly number[];
  /** Whether the headset could be reached. */
  readonly reachable: boolean;
};

interface CancelRequest {
  readonly applicationId: string;
  readonly deviceId: string;
}

/** Judges what a cancel request is about (specification API 4): the device's unprocessed transactions as they are now. */
export async function planCancel(
  deps: {
    store: TransactionStore;
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
 * Cancels what of the plan may be canceled (specification API 4, rule A10); answers exactly those ids. Of the
 * planned ones, what one run could not cancel no later run can, since states only go forward: so all
 * runs of a plan answer the same.
 */
export async function cancelTransactions(
  deps: { store: TransactionStore; outbox: Outbox; delivery: Delivery; clock: Clock },
  request: CancelRequest & { readonly plan: CancelPlan },
): Promise<number[]> {
  const { plan, ...owner } = request;
  const canceled = await deps.store.cancelByRequest({ ...owner, ...plan }, deps.clock.now());
  for (const t of canceled) deps.outbox.publish(t);
  if (canceled.length > 0) deps.delivery.withdraw(canceled, 'canceled');
  return canceled.map((t) => t.id).sort((a, b) => a - b);
}
