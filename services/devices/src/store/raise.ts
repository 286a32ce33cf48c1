import { noteRaise, type RaiseReport, type Raising, raiseStep } from '@headset-cloud/rules/raised.ts';
import type { BulkOperation } from '@headset-cloud/store/operations.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { WithId } from 'mongodb';
import { type ApplicationDocument, collections, type DeviceDocument } from './documents.ts';

const atOnce = 500;

/** True if no platform has ever used this database. */
export async function isUnused(store: Store): Promise<boolean> {
  return (await store.collection<ApplicationDocument>(collections.applications).findOne({})) === null;
}

/**
 * Advances the restored database (ADR 0035): each device's activation epoch becomes higher than any epoch that its
 * headset may have received since the backup. The activation of the current application restarts at the new epoch,
 * because other applications may have had the device since the backup. Its earlier epochs are kept in `before`, so that
 * their events still belong to the application.
 */
export async function raiseDevices({ store, dryRun }: Raising): Promise<RaiseReport> {
  const devices = store.collection<DeviceDocument>(collections.devices);
  const projection = { epoch: 1, activation: 1, pending: 1, undo: 1 } as const;
  const report = { devices: 0, activated: 0 };
  // Stored before the devices are advanced, so that a device that is registered in the meantime also gets a higher
  // epoch.
  if (!dryRun) await noteRaise(store);
  for (let after = ''; ; ) {
    const page = await devices
      .find({ _id: { $gt: after } }, { sort: { _id: 1 }, limit: atOnce, projection })
      .toArray();
    const last = page.at(-1);
    if (!last) return report;
    after = last._id;
    report.devices += page.length;
    report.activated += page.filter(({ activation }) => activation).length;
    if (!dryRun) await devices.bulkWrite(page.map(raise), { ordered: false });
  }
}

function raise({
  _id,
  epoch,
  activation,
  pending,
  undo,
}: WithId<DeviceDocument>): BulkOperation<DeviceDocument> {
  const advanced = epoch + raiseStep;
  const work = pending.map((one) => ('epoch' in one ? { ...one, epoch: one.epoch + raiseStep } : one));
  return {
    updateOne: {
      filter: { _id, epoch },
      update: {
        $set: {
          epoch: advanced,
          ...(activation && {
            activation: {
              ...activation,
              epoch: advanced,
              sinceEpoch: advanced,
              before: [
                ...(activation.before ?? []),
                { sinceEpoch: activation.sinceEpoch ?? activation.epoch, untilEpoch: epoch + 1 },
              ].slice(-rememberedSpans),
            },
          }),
          ...(work.length > 0 && { pending: work }),
          ...(undo && { undo: { ...undo, epoch: undo.epoch + raiseStep } }),
        },
      },
    },
  };
}

/** Maximum restores that an activation remembers. */
const rememberedSpans = 8;
