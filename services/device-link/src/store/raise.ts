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
 * Raises the restored database (ADR 0035): the session epochs of all headsets, also of those that it does
 * not know, begin above what was raised so far (session-directory.ts).
 */
export async function raiseDeviceLink({ store, dryRun }: Raising): Promise<RaiseReport> {
  const report = { sessionEpochsAbove: (await raisedBy(store)) + raiseStep };
  if (!dryRun) await noteRaise(store);
  return report;
}

/**
 * An instance that runs on the database, by its address or name; undefined if there is none. A lease that has not
 * expired is watched until its beat rises or the lease expires.
 */
export async function runningInstance(
  store: Store,
  clock: Clock,
  time: Time = systemTime,
): Promise<string | undefined> {
  const instances = store.collection<InstanceDocument>(instancesCollection);
  const believed = ({ expiresAt }: InstanceDocument) => expiresAt.getTime() > clock.now();
  let doubtful = (await instances.find({}).toArray()).filter(believed);
  while (doubtful.length > 0) {
    await time.sleep(readIntervalMs);
    const now = new Map((await instances.find({}).toArray()).map((one) => [one._id, one]));
    const alive = doubtful.find(({ _id, beat }) => now.has(_id) && now.get(_id)?.beat !== beat);
    if (alive) return alive.address || alive._id;
    doubtful = doubtful.filter((one) => now.has(one._id) && believed(one));
  }
  return undefined;
}
