import { coalescedChange } from '@headset-cloud/store/coalesced.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { Transitions } from '../ports/transitions.ts';
import { type Apply, directly, toStored } from './changes.ts';
import type { TransactionDocument } from './documents.ts';

type Permits = Pick<Transitions, 'accept' | 'refuse'>;

/** Gives the start permit to a session, or ends a transaction that the session's headset is too old for. */
export function createPermits(
  transactions: StoreCollection<TransactionDocument>,
  { apply }: { apply: Apply },
): Permits {
  // A job needs this change and `finish`: changes of several transactions go to the database together (ADR 0049).
  const accept = coalescedChange(transactions, 'acceptStamp');
  return {
    async accept(id, session, floorEpoch, now) {
      const document = await apply(
        accept,
        {
          _id: id,
          deviceId: session.deviceId,
          activationEpoch: { $gte: floorEpoch },
          sentEpoch: { $lte: session.epoch },
          // Its headset is asked to give it up.
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
    async refuse(id, { deviceId, epoch }, floorEpoch, { message, lostEpoch }, now) {
      const asked = { _id: id, deviceId, activationEpoch: { $gte: floorEpoch }, sentEpoch: { $lte: epoch } };
      const document =
        lostEpoch > 0
          ? await apply(
              directly(transactions),
              { ...asked, lostEpoch },
              { type: 'result', end: { success: false, message, atMs: now } },
              now,
            )
          : await apply(directly(transactions), asked, { type: 'refuse', message }, now, {
              sentEpoch: epoch,
            });
      return document && toStored(document);
    },
  };
}
