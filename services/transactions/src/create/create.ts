import { toBinary } from '@bufbuild/protobuf';
import { type Operation, OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { requireTime } from '@headset-cloud/runtime/deadline.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { currentTraceparent } from '@headset-cloud/runtime/telemetry.ts';
import type { Canceler } from '../cancel/canceler.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { Versions } from '../domain/client-version.ts';
import { applicationFull, deviceFull } from '../domain/full.ts';
import type { Outbox } from '../outbox.ts';
import type { Floor, Heads } from '../ports/heads.ts';
import type { OpenLimit, OpenLimits } from '../ports/open-limits.ts';
import type { Queries } from '../ports/queries.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';
import type { TransactionIds } from '../ports/transaction-ids.ts';
import type { Transitions } from '../ports/transitions.ts';
import { queueFirmware } from './firmware.ts';

export interface CreateDependencies {
  readonly store: TransactionIds & Heads & Transitions & Queries;
  readonly outbox: Outbox;
  readonly delivery: Delivery;
  readonly canceler: Canceler;
  readonly clock: Clock;
  readonly limits: OpenLimits;
}

/** The transaction to be created. */
export interface WantedTransaction {
  /** An id that was drawn before (rule B8); undefined: one is drawn here. */
  readonly id: number | undefined;
  readonly deviceId: string;
  readonly applicationId: string;
  readonly operationId: string;
  /** The subject by which 'latest' is judged, together with the operationId. */
  readonly subject: string;
  /** The activation epoch that the caller saw. */
  readonly activationEpoch: number;
  /** Undefined: an operation that this version does not know. */
  readonly operation: Operation | undefined;
  /** Set: the create raises the device's floor to its own activation epoch (rule B4). */
  readonly raisesFloor: Floor['reason'] | undefined;
  readonly minimum: Versions;
  /** Not empty: the transaction ends at once, as a failure with this message. */
  readonly failMessage: string;
  /** Most unprocessed transactions of the device, and of the application; undefined: no limit. */
  readonly deviceMost: number | undefined;
  readonly applicationMost: number | undefined;
}

/**
 * Creates a transaction and returns its id; idempotent if the id was drawn before (rule B8). The device's
 * head is raised first. So a create that saw an ended activation is refused, and one that was overtaken by
 * a floor is canceled when it is delivered (rule B4).
 */
export async function createTransaction(
  deps: CreateDependencies,
  wanted: WantedTransaction,
): Promise<number> {
  const { limits, store } = deps;
  const { deviceId, deviceMost, applicationId, applicationMost, id } = wanted;
  const admitted: ((created: boolean) => void)[] = [];
  /** Throws if the limit is reached, but not for the repeat of a create that succeeded. */
  const admit = async (limit: OpenLimit, key: string, most: number | undefined, full: typeof deviceFull) => {
    if (most === undefined) return;
    const end = await limit.admit(key, most);
    if (end) admitted.push(end);
    else if (id === undefined || (await store.get(id))?.deviceId !== deviceId) throw full(most);
  };
  let created = false;
  try {
    await admit(limits.ofApplication, applicationId, applicationMost, applicationFull);
    await admit(limits.ofDevice, deviceId, deviceMost, deviceFull);
    const made = await createAdmitted(deps, wanted);
    created = true;
    return made;
  } finally {
    for (const end of admitted) end(created);
  }
}

async function createAdmitted(deps: CreateDependencies, wanted: WantedTransaction): Promise<number> {
  const { store } = deps;
  const { deviceId, activationEpoch: epoch, id: given } = wanted;
  const floor = wanted.raisesFloor && { epoch, reason: wanted.raisesFloor };
  let id: number;
  for (;;) {
    id = given ?? (await store.drawId());
    const raise = await store.raiseHead(
      deviceId,
      { id, epoch, mustRise: given === undefined, floor },
      deps.clock.now(),
    );
    if (raise === 'raised' && (await isQueued(deps, wanted, id))) break;
    if (raise === 'epoch-too-old') {
      // A repeat of a create that succeeded before the activation ended still returns its id.
      if (given !== undefined && (await store.get(given))?.deviceId === deviceId) return given;
      throw new DomainError('device_not_activated', 'The device is not activated.');
    }
    if (given === undefined) {
      // Another process has drawn higher ids for this device: a fresh block is above them.
      store.dropIdBlockOf(id);
    }
    requireTime();
  }
  const stored = await store.insert(
    {
      id,
      deviceId,
      applicationId: wanted.applicationId,
      operationId: wanted.operationId,
      subject: wanted.subject,
      activationEpoch: epoch,
      operation: wanted.operation ? toBinary(OperationSchema, wanted.operation) : new Uint8Array(),
      traceparent: currentTraceparent(),
      minimum: wanted.minimum,
      ...(wanted.failMessage && { failMessage: wanted.failMessage }),
    },
    deps.clock.now(),
  );
  if (floor) await deps.canceler.cancelBelowFloor(deviceId, floor);
  if (stored) {
    if (stored.outbox.length > 0) deps.outbox.publish(stored);
    else deps.delivery.deliver(stored);
  } else {
    const existing = await requireSame(store, id, wanted);
    // The process that stored it may have died before the hand-over, and later operations wait behind it.
    if (existing.status === 'created') deps.delivery.deliver(existing);
  }
  return id;
}

/**
 * Adds a firmware update to its device's queue; throws if it would be a downgrade. False: a call with a
 * higher id came first, so this one needs a new, higher id.
 */
async function isQueued(
  { store, clock }: CreateDependencies,
  { deviceId, operation, id: given, activationEpoch }: WantedTransaction,
  id: number,
): Promise<boolean> {
  if (operation?.kind.case !== 'updateFirmware') return true;
  // A repeat returns the first result, whatever was requested since.
  if (given !== undefined && (await store.get(id))) return true;
  const { version } = operation.kind.value;
  const asked = { id, version, activationEpoch, atMs: clock.now() };
  return queueFirmware(store, deviceId, asked, given !== undefined);
}

async function requireSame(
  store: Queries,
  id: number,
  wanted: WantedTransaction,
): Promise<StoredTransaction> {
  const existing = await store.get(id);
  const same =
    existing?.deviceId === wanted.deviceId &&
    existing.applicationId === wanted.applicationId &&
    existing.operationId === wanted.operationId;
  if (!existing || !same)
    throw new DomainError('internal', 'Internal error.', { internal: `transaction id ${id} is taken` });
  return existing;
}
