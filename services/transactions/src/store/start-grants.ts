import { coalescedChange } from '@headset-cloud/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { Transitions } from '../ports/transitions.ts';
import { type Apply, oneByOne, toStored } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

type StartGrants = Pick<Transitions, 'accept' | 'rejectStart'>;

/** Gives the start grant to a session, or ends a transaction if the session's headset is too old for it. */
export function createStartGrants(
  transactions: StoreCollection<TransactionDocument>,
  { apply }: { apply: Apply },
): StartGrants {
  // Every transaction needs this change and `finish`, so concurrent changes share one write (ADR 0049).
  const accept = coalescedChange(transactions, 'acceptStamp');
  return {
    async accept(id, session, minActivationEpoch, now) {
      const document = await apply(
        accept,
        {
          _id: id,
          deviceId: session.deviceId,
          activationEpoch: { $gte: minActivationEpoch },
          sentEpoch: { $lte: session.epoch },
          // With a requested cancellation the headset gets `revoke` instead.
          wish: { $exists: false },
          minimumClientVersion: session.meets?.client || { $exists: false },
          minimumFirmwareVersion: session.meets?.firmware || { $exists: false },
        },
        { type: 'accept' },
        now,
        { sentEpoch: session.epoch },
      );
      return document && toStored(document);
    },
    async rejectStart(id, { deviceId, epoch }, minActivationEpoch, { message, lostEpoch }, now) {
      const filter = {
        _id: id,
        deviceId,
        activationEpoch: { $gte: minActivationEpoch },
        sentEpoch: { $lte: epoch },
      };
      const document =
        lostEpoch > 0
          ? await apply(
              oneByOne(transactions),
              { ...filter, lostEpoch },
              { type: 'result', end: { success: false, message, atMs: now } },
              now,
            )
          : await apply(oneByOne(transactions), filter, { type: 'reject', message }, now, {
              sentEpoch: epoch,
            });
      return document && toStored(document);
    },
  };
}
