import {
  noteRaise,
  type RaiseReport,
  type Raising,
  raisedBy,
  raiseStep,
} from '@headset-cloud/rules/raised.ts';
import { type Clock, systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { type InstanceDocument, instancesCollection } from './leases.ts';

const readIntervalMs = 200;

/**
 * Advances the restored database (ADR 0035): adds `raiseStep` to the session epochs of all headsets, including headsets
 * that are missing in the database (`epochsAbove` in session-directory.ts).
 */
export async function raiseDeviceLink({ store, dryRun }: Raising): Promise<RaiseReport> {
  const report = { sessionEpochsAbove: (await raisedBy(store)) + raiseStep };
  if (!dryRun) await noteRaise(store);
  return report;
}

/**
 * Returns the address or name of an instance that runs on the database; undefined if there is none. Reads each
 * unexpired lease again until its beat rises (the instance is running) or the lease expires.
 */
export async function runningInstance(
  store: Store,
  clock: Clock,
  time: Time = systemTime,
): Promise<string | undefined> {
  const instances = store.collection<InstanceDocument>(instancesCollection);
  const isUnexpired = ({ expiresAt }: InstanceDocument) => expiresAt.getTime() > clock.now();
  let unexpired = (await instances.find({}).toArray()).filter(isUnexpired);
  while (unexpired.length > 0) {
    await time.sleep(readIntervalMs);
    const now = new Map((await instances.find({}).toArray()).map((one) => [one._id, one]));
    const alive = unexpired.find(({ _id, beat }) => now.has(_id) && now.get(_id)?.beat !== beat);
    if (alive) return alive.address || alive._id;
    unexpired = unexpired.filter((one) => now.has(one._id) && isUnexpired(one));
  }
  return undefined;
}
