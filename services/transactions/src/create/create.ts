import { toBinary } from '@bufbuild/protobuf';
import { type Operation, OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { requireTime } from '@headset-cloud/runtime/deadline.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { currentTraceparent } from '@headset-cloud/runtime/telemetry.ts';
import type { Canceler } from '../cancel/canceler.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { Versions } from '../domain/client-version.ts';
import { applicationFull, deviceFull } from '../domain/full.ts';
import type { Outbox } from '../outbox.ts';
import type { DeviceCountersStore, MinimumEpoch } from '../ports/device-counters.ts';
import type { OpenLimit, OpenLimits } from '../ports/open-limits.ts';
import type { Queries } from '../ports/queries.ts';
import type { StoredTransaction } from '../ports/stored-transaction.ts';
import type { TransactionIds } from '../ports/transaction-ids.ts';
import type { Transitions } from '../ports/transitions.ts';
import { queueFirmware } from './firmware.ts';

export interface CreateDependencies {
  readonly store: TransactionIds & DeviceCountersStore & Transitions & Queries;
  readonly outbox: Outbox;
  readonly dispatcher: Dispatcher;
  readonly canceler: Canceler;
  readonly clock: Clock;
  readonly limits: OpenLimits;
}

/** The transaction to create. */
export interface WantedTransaction {
  /** An id that was drawn before (rule B8); undefined: an id is drawn here. */
  readonly id: number | undefined;
  readonly deviceId: string;
  readonly applicationId: string;
  readonly operationId: string;
  /** Determines the latest transaction, together with the operationId. */
  readonly subject: string;
  /** The activation epoch that the caller has read. */
  readonly activationEpoch: number;
  /** Undefined: this version does not know the operation. */
  readonly operation: Operation | undefined;
  /** Set: `activationEpoch` becomes the device's minimum activation epoch, for this reason (rule B4). */
  readonly raisesMinimumEpoch: MinimumEpoch['reason'] | undefined;
  readonly minimum: Versions;
  /** Not empty: the transaction fails at once with this message. */
  readonly failMessage: string;
  /** Maximum number of unprocessed transactions of the device, and of the application; undefined: no limit. */
  readonly deviceLimit: number | undefined;
  readonly applicationLimit: number | undefined;
}

/**
 * Creates a transaction and returns its id; idempotent if the id was drawn before (rule B8). The device counters are
 * advanced before the transaction is stored (rule B4). So a create for an ended activation is rejected, and a
 * transaction that is stored after a concurrent deactivation or reset is canceled when it is dispatched. Throws
 * `device_not_activated`, `too_many_requests` (ADR 0040) and, for a firmware downgrade, `invalid_argument`.
 */
export async function createTransaction(
  deps: CreateDependencies,
  wanted: WantedTransaction,
): Promise<number> {
  const { limits, store } = deps;
  const { deviceId, deviceLimit, applicationId, applicationLimit, id } = wanted;
  const endAdmissions: ((created: boolean) => void)[] = [];
  /** Throws if the limit is reached, except for the repeat of a successful create. */
  const admit = async (limit: OpenLimit, key: string, most: number | undefined, full: typeof deviceFull) => {
    if (most === undefined) return;
    const end = await limit.admit(key, most);
    if (end) endAdmissions.push(end);
    else if (id === undefined || (await store.get(id))?.deviceId !== deviceId) throw full(most);
  };
  let created = false;
  try {
    await admit(limits.ofApplication, applicationId, applicationLimit, applicationFull);
    await admit(limits.ofDevice, deviceId, deviceLimit, deviceFull);
    const createdId = await createAdmitted(deps, wanted);
    created = true;
    return createdId;
  } finally {
    for (const end of endAdmissions) end(created);
  }
}

async function createAdmitted(deps: CreateDependencies, wanted: WantedTransaction): Promise<number> {
  const { store } = deps;
  const { deviceId, activationEpoch: epoch, id: given } = wanted;
  const minimumEpoch = wanted.raisesMinimumEpoch && { epoch, reason: wanted.raisesMinimumEpoch };
  let id: number;
  for (;;) {
    id = given ?? (await store.drawId());
    const outcome = await store.advanceCounters(
      deviceId,
      { id, epoch, mustRise: given === undefined, minimumEpoch },
      deps.clock.now(),
    );
    if (outcome === 'advanced' && (await isQueued(deps, wanted, id))) break;
    if (outcome === 'epoch-too-old') {
      // The repeat of a create that succeeded before the activation ended returns its id.
      if (given !== undefined && (await store.get(given))?.deviceId === deviceId) return given;
      throw new DomainError('device_not_activated', 'The device is not activated.');
    }
    if (given === undefined) {
      // Another process has drawn higher ids for this device; a new block is above them.
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
  if (minimumEpoch) await deps.canceler.cancelBelowMinimumEpoch(deviceId, minimumEpoch);
  if (stored) {
    if (stored.outbox.length > 0) deps.outbox.publish(stored);
    else deps.dispatcher.dispatch(stored);
  } else {
    const existing = await requireSame(store, id, wanted);
    // The process that stored the transaction may have died before the dispatch, and later operations wait for the
    // transaction.
    if (existing.status === 'created') deps.dispatcher.dispatch(existing);
  }
  return id;
}

/**
 * Adds a firmware update to the device's queue; throws if it would be a downgrade. False: the queue has an update
 * with a higher id, so this update needs a new id.
 */
async function isQueued(
  { store, clock }: CreateDependencies,
  { deviceId, operation, id: given, activationEpoch }: WantedTransaction,
  id: number,
): Promise<boolean> {
  if (operation?.kind.case !== 'updateFirmware') return true;
  // A repeat returns the first result, whatever updates were requested since.
  if (given !== undefined && (await store.get(id))) return true;
  const { version } = operation.kind.value;
  const requested = { id, version, activationEpoch, atMs: clock.now() };
  return queueFirmware(store, deviceId, requested, given !== undefined);
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
    throw new DomainError('internal', 'Internal error.', {
      internal: `transaction id ${id} belongs to another transaction`,
    });
  return existing;
}
