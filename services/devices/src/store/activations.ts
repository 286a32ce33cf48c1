import type { Clock } from '@headset-cloud/kit/clock.ts';
import { isDuplicateKey } from '@headset-cloud/kit/errors.ts';
import type { StoreCollection } from '@headset-cloud/kit/store/types.ts';
import type { Filter, UpdateFilter } from 'mongodb';
import { type DeviceState, type Pending, recentTransactions } from '../domain/device.ts';
import type { ActivationStore, ChangeOutcome } from '../ports.ts';
import type { DeviceDocument } from './documents.ts';

const stateFields = {
  epoch: 1,
  lastTransactionId: 1,
  recent: 1,
  activation: 1,
  intent: 1,
  pending: 1,
} as const;

/** `completeAfterMs`: how long the call that caused pending work has to do it before the sweeper does. */
export function createActivationStore(
  devices: StoreCollection<DeviceDocument>,
  clock: Clock,
  completeAfterMs: number,
): ActivationStore {
  const dueAtMs = () => clock.now() + completeAfterMs;

  async function change(
    filter: Filter<DeviceDocument>,
    update: UpdateFilter<DeviceDocument>,
  ): Promise<ChangeOutcome> {
    try {
      const { matchedCount } = await devices.updateOne(filter, update);
      return matchedCount === 1 ? 'changed' : 'lost';
    } catch (error) {
      // The only unique index beside _id is the client id's.
      if (isDuplicateKey(error)) return 'client_id_in_use';
      throw error;
    }
  }

  /** What every change does beside its own part: it is the newest, it is remembered, its work is due. */
  const takesEffect = (transactionId: number, pending: Pending) => ({
    $set: { lastTransactionId: transactionId, dueAtMs: dueAtMs() },
    $push: { pending, recent: { $each: [transactionId], $slice: -recentTransactions } },
  });

  async function rest(deviceId: string): Promise<void> {
    await devices.updateOne(
      { _id: deviceId, pending: { $size: 0 }, intent: { $exists: false } },
      { $unset: { dueAtMs: '' } },
    );
  }

  return {
    async find(deviceId) {
      const found = await devices.findOne({ _id: deviceId }, { projection: stateFields });
      if (!found) return undefined;
      const { _id, ...state } = found;
      return { deviceId: _id, ...state } as DeviceState;
    },

    async clientIdInUse(clientId, exceptDeviceId) {
      const found = await devices.findOne({ 'activation.clientId': clientId }, { projection: { _id: 1 } });
      return found !== null && found._id !== exceptDeviceId;
    },

    async intend(deviceId, intent) {
      const outcome = await change(
        {
          _id: deviceId,
          lastTransactionId: { $lt: intent.transactionId },
          activation: { $exists: false },
          intent: { $exists: false },
          pending: { $size: 0 },
        },
        { $set: { intent, dueAtMs: intent.untilMs } },
      );
      return outcome === 'changed';
    },

    activate(deviceId, activation) {
      const { applicationId, clientId, clientSecret, epoch, slotId } = activation;
      const effect = takesEffect(slotId, {
        kind: 'activate',
        transactionId: slotId,
        applicationId,
        epoch,
        clientId,
        ...(clientSecret !== undefined && { clientSecret }),
      });
      return change(
        { _id: deviceId, 'intent.transactionId': slotId, epoch: epoch - 1, activation: { $exists: false } },
        { ...effect, $set: { ...effect.$set, activation, epoch }, $unset: { intent: '' } },
      );
    },

    reactivate(deviceId, transactionId, next) {
      const { applicationId, clientId, clientSecret, epoch } = next;
      const effect = takesEffect(transactionId, {
        kind: 'activate',
        transactionId,
        applicationId,
        epoch,
        clientId,
        ...(clientSecret !== undefined && { clientSecret }),
      });
      return change(
        { _id: deviceId, 'activation.epoch': epoch, lastTransactionId: { $lt: transactionId } },
        { ...effect, $set: { ...effect.$set, activation: next } },
      );
    },

    deactivate(deviceId, transactionId, ended) {
      const { applicationId, slotId } = ended;
      const epoch = ended.epoch + 1;
      const effect = takesEffect(transactionId, {
        kind: 'deactivate',
        transactionId,
        applicationId,
        epoch,
        slotId,
      });
      return change(
        { _id: deviceId, 'activation.epoch': ended.epoch, lastTransactionId: { $lt: transactionId } },
        { ...effect, $set: { ...effect.$set, epoch }, $unset: { activation: '' } },
      );
    },

    async abandon(deviceId, { applicationId, transactionId }, slotTaken) {
      const release: Pending = { kind: 'release', transactionId, applicationId, slotId: transactionId };
      const outcome = await change(
        { _id: deviceId, 'intent.transactionId': transactionId },
        {
          // While an intent stands nothing is pending: without a slot to release, nothing is left to do.
          ...(slotTaken
            ? { $unset: { intent: '' }, $set: { dueAtMs: dueAtMs() }, $push: { pending: release } }
            : { $unset: { intent: '', dueAtMs: '' } }),
        },
      );
      return outcome === 'changed';
    },

    async settle(deviceId, { transactionId, kind }) {
      await devices.updateOne({ _id: deviceId }, { $pull: { pending: { transactionId, kind } } });
      await rest(deviceId);
    },

    rest,

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
