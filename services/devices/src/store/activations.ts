import {
  mostPendingRecords,
  type PendingAuditRecord,
  tooMuchPending,
} from '@headset-cloud/rules/audit/record.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { Filter, Update } from '@headset-cloud/store/operations.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { pastAssociations } from '../domain/association.ts';
import {
  type Activation,
  type DeviceState,
  type LifecycleChange,
  type Pending,
  recentTransactions,
  type Undo,
} from '../domain/device.ts';
import type { ActivationStore, ChangeOutcome } from '../ports/activation-store.ts';
import type { DeviceDocument } from './documents.ts';

const stateFields = {
  epoch: 1,
  lastTransactionId: 1,
  recent: 1,
  activation: 1,
  pending: 1,
  undo: 1,
  lifecycle: 1,
} as const;

/** Maximum devices that a metrics scrape counts. */
const maxCounted = 10_000;

/**
 * Maximum pending entries in a device's document: audit records and lifecycle events for the log, work for
 * transactions. Each read of the device reads all entries, and MongoDB limits the size of a document. A deactivation is
 * accepted beyond the limits, because no other change can follow it.
 */
const maxEntries = { audit: mostPendingRecords, lifecycle: mostPendingRecords, pending: 100 };
const lastEntries = Object.entries(maxEntries).map(([name, max]) => `${name}.${max - 1}`);
const hasSpace: Filter<DeviceDocument> = Object.fromEntries(
  lastEntries.map((path) => [path, { $exists: false }]),
);
const isFull = lastEntries.map((path): Filter<DeviceDocument> => ({ [path]: { $exists: true } }));

/** `completeAfterMs`: time after which the sweeper does the pending work of a change; milliseconds. */
export function createActivationStore(
  devices: StoreCollection<DeviceDocument>,
  clock: Clock,
  completeAfterMs: number,
): ActivationStore {
  const dueAtMs = () => clock.now() + completeAfterMs;

  async function change(
    filter: Filter<DeviceDocument>,
    update: Update<DeviceDocument>,
  ): Promise<ChangeOutcome> {
    try {
      const { matchedCount } = await devices.updateOne(filter, update);
      return matchedCount === 1 ? 'changed' : 'lost';
    } catch (error) {
      // The client id or the slot: the only unique indexes beside _id.
      if (isDuplicateKey(error)) return 'taken';
      throw error;
    }
  }

  /** Like `change`, but throws if the device has too many pending entries. */
  async function changeUnlessFull(
    filter: Filter<DeviceDocument> & { _id: string },
    update: Update<DeviceDocument>,
  ): Promise<ChangeOutcome> {
    const outcome = await change({ ...filter, ...hasSpace }, update);
    if (outcome !== 'lost') return outcome;
    const full = await devices.findOne({ _id: filter._id, $or: isFull }, { projection: { _id: 1 } });
    if (full) throw tooMuchPending();
    return outcome;
  }

  /**
   * The part of the update that all changes have in common: the newest transaction, the pending work with its due time,
   * and the audit record. Adds a lifecycle event if the change begins or ends an activation.
   */
  const commonUpdate = (
    transactionId: number,
    record: PendingAuditRecord,
    pending: Pending,
    lifecycleKind?: LifecycleChange['kind'],
  ) => ({
    $set: { lastTransactionId: transactionId, dueAtMs: dueAtMs(), auditAtMs: record.atMs },
    $push: {
      pending,
      audit: record,
      recent: { $each: [transactionId], $slice: -recentTransactions },
      ...(lifecycleKind && 'epoch' in pending && { lifecycle: lifecycleChange(lifecycleKind, pending) }),
    },
  });
  const lifecycleChange = (
    kind: LifecycleChange['kind'],
    { applicationId, epoch }: { applicationId: string; epoch: number },
  ): LifecycleChange => ({ kind, applicationId, epoch, atMs: clock.now() });

  /** The part of the update that ends an activation. The end has the next activation epoch. */
  const endOfActivation = ({ applicationId, epoch: last, sinceEpoch, sinceMs, before = [] }: Activation) => {
    const epoch = last + 1;
    const past = [...before, { sinceEpoch, untilEpoch: epoch }].map((span) => ({
      applicationId,
      ...span,
      ...(sinceMs !== undefined && { sinceMs }),
    }));
    return {
      ...{ applicationId, epoch },
      $set: { epoch, deactivatedAtMs: clock.now() },
      $push: { past: { $each: past, $slice: -pastAssociations } },
      // The location is removed at once (ADR 0045).
      $unset: { activation: '' as const, slot: '' as const, 'reported.location': '' as const },
    };
  };

  /**
   * Filter: the activation has not changed since it was read. Each change has a new transaction, except that `earlier`
   * may get shorter, and that the device may get another slot.
   */
  const unchanged = ({ deviceId, lastTransactionId, activation }: DeviceState) => {
    const { length } = activation?.earlier ?? [];
    return {
      ...{ _id: deviceId, lastTransactionId, 'activation.epoch': activation?.epoch ?? null },
      'activation.slot': activation?.slot ?? null,
      ...(length > 0 && { [`activation.earlier.${length - 1}`]: { $exists: true } }),
      [`activation.earlier.${length}`]: { $exists: false },
    };
  };

  /** Filter: a device without pending work. */
  const withoutPendingWork: Filter<DeviceDocument> = {
    pending: { $size: 0 },
    undo: { $exists: false },
    'lifecycle.0': { $exists: false },
  };

  const dueTimeRemoval = (deviceId: string) => ({
    updateOne: {
      filter: { ...withoutPendingWork, _id: deviceId },
      update: { $unset: { dueAtMs: '' as const, intent: '' as const } },
    },
  });

  async function clearDueTime(deviceId: string): Promise<void> {
    const { filter, update } = dueTimeRemoval(deviceId).updateOne;
    await devices.updateOne(filter, update);
  }

  return {
    async find(deviceId) {
      const found = await devices.findOne({ _id: deviceId }, { projection: stateFields });
      if (!found) return undefined;
      const { _id, activation, lifecycle, ...state } = found;
      const since = activation && { ...activation, sinceEpoch: activation.sinceEpoch ?? activation.epoch };
      return {
        ...state,
        deviceId: _id,
        lifecycle: lifecycle ?? [],
        ...(since && { activation: since }),
      } as DeviceState;
    },

    async clientIdInUse(clientId, exceptDeviceId) {
      const found = await devices.findOne({ 'activation.clientId': clientId }, { projection: { _id: 1 } });
      return found !== null && found._id !== exceptDeviceId;
    },

    activate(deviceId, transactionId, activation, record) {
      const { applicationId, clientId, clientSecret, epoch } = activation;
      const effect = commonUpdate(
        transactionId,
        record,
        {
          ...{ kind: 'activate', transactionId, applicationId, epoch, clientId },
          ...(clientSecret !== undefined && { clientSecret }),
        },
        'activated',
      );
      // Release 0.1.0 counts slots by this field.
      const slot = { applicationId, id: String(transactionId) };
      return changeUnlessFull(
        {
          ...{ _id: deviceId, lastTransactionId: { $lt: transactionId }, epoch: epoch - 1 },
          activation: { $exists: false },
          pending: { $size: 0 },
          undo: { $exists: false },
        },
        {
          ...effect,
          $set: { ...effect.$set, activation: { ...activation, sinceMs: clock.now() }, slot, epoch },
          $unset: { intent: '', deactivatedAtMs: '' },
        },
      );
    },

    reactivate(device, transactionId, next, record) {
      const { applicationId, clientId, clientSecret, epoch } = next;
      const effect = commonUpdate(transactionId, record, {
        kind: 'activate',
        transactionId,
        applicationId,
        epoch,
        clientId,
        ...(clientSecret !== undefined && { clientSecret }),
      });
      return changeUnlessFull(unchanged(device), { ...effect, $set: { ...effect.$set, activation: next } });
    },

    replace(device, activation) {
      return change(unchanged(device), { $set: { activation } });
    },

    async undo(device, present, transactionId) {
      const { applicationId, epoch, $set, $push, $unset } = endOfActivation(present);
      const undo: Undo = { transactionId, applicationId, epoch };
      const lifecycle = { ...lifecycleChange('deactivated', undo), undone: true as const };
      await change(unchanged(device), {
        $set: { ...$set, undo, dueAtMs: dueAtMs() },
        $push: { ...$push, lifecycle },
        $unset,
      });
    },

    async settleUndo(deviceId, { transactionId }) {
      const done = {
        updateOne: {
          filter: { _id: deviceId, 'undo.transactionId': transactionId },
          update: { $unset: { undo: '' as const } },
        },
      };
      await devices.bulkWrite([done, dueTimeRemoval(deviceId)]);
    },

    deactivate(deviceId, transactionId, present, record) {
      const { applicationId, epoch, $set, $push, $unset } = endOfActivation(present);
      const pending: Pending = { kind: 'deactivate', transactionId, applicationId, epoch };
      const effect = commonUpdate(transactionId, record, pending, 'deactivated');
      return change(
        { _id: deviceId, 'activation.epoch': present.epoch, lastTransactionId: { $lt: transactionId } },
        { $set: { ...effect.$set, ...$set }, $push: { ...effect.$push, ...$push }, $unset },
      );
    },

    reset(deviceId, transactionId, { applicationId, epoch: seen, sinceEpoch }, record) {
      const epoch = seen + 1;
      const effect = commonUpdate(transactionId, record, {
        kind: 'reset',
        transactionId,
        applicationId,
        epoch,
      });
      const advanced = { epoch, 'activation.epoch': epoch, 'activation.sinceEpoch': sinceEpoch };
      return changeUnlessFull(
        { _id: deviceId, 'activation.epoch': seen, lastTransactionId: { $lt: transactionId } },
        { ...effect, $set: { ...effect.$set, ...advanced } },
      );
    },

    async settle(deviceId, { transactionId, kind }) {
      const done = {
        updateOne: {
          filter: { _id: deviceId, 'pending.transactionId': transactionId },
          update: {
            $pull: { pending: { transactionId, kind } },
            // A deactivation of release 0.1.0 does not remove the field itself.
            ...(kind === 'deactivate' && { $unset: { slot: '' as const } }),
          },
        },
      };
      await devices.bulkWrite([done, dueTimeRemoval(deviceId)]);
    },

    clearDueTime,

    countPending() {
      return devices.countDocuments({ dueAtMs: { $gt: 0 } }, { limit: maxCounted });
    },

    async pendingLifecycle(deviceIds) {
      const found = await devices
        .find({ _id: { $in: [...deviceIds] } }, { projection: { lifecycle: 1 } })
        .toArray();
      return found.flatMap(({ _id, lifecycle = [] }) =>
        lifecycle.length > 0 ? [{ deviceId: _id, changes: lifecycle }] : [],
      );
    },

    async clearLifecycle(published) {
      await devices.bulkWrite(
        published.flatMap(({ deviceId, epoch }) => [
          {
            updateOne: {
              filter: { _id: deviceId },
              update: { $pull: { lifecycle: { epoch: { $lte: epoch } } } },
            },
          },
          dueTimeRemoval(deviceId),
        ]),
      );
    },

    async recall(latestMs, nowMs) {
      await devices.updateMany({ dueAtMs: { $gt: latestMs } }, { $set: { dueAtMs: nowMs } });
    },

    async claimDue(nowMs, untilMs, limit) {
      const due = await devices
        .find(
          { dueAtMs: { $lte: nowMs } },
          { sort: { dueAtMs: 1 }, limit, projection: { _id: 1, dueAtMs: 1 } },
        )
        .toArray();
      const claimed = await Promise.all(
        due.map(async ({ _id, dueAtMs: seen }) => {
          const { matchedCount } = await devices.updateOne(
            { _id, dueAtMs: seen as number },
            { $set: { dueAtMs: untilMs } },
          );
          return matchedCount === 1 ? [_id] : [];
        }),
      );
      return claimed.flat();
    },
  };
}
