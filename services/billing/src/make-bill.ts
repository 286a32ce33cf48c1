import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Zone } from 'luxon';
import { type Bill, BillSum } from './domain/bill.ts';
import { compareMonths, type Month, monthAt, spanOf } from './domain/month.ts';
import { plansBefore } from './domain/plans.ts';
import type { ActivityStore, FrozenBills, PlansStore, UsageStore } from './ports.ts';

/** The records that bills are computed from. */
export interface BillSources {
  readonly usage: Pick<UsageStore, 'around'>;
  readonly activity: Pick<ActivityStore, 'changes'>;
  readonly plans: Pick<PlansStore, 'histories'>;
  readonly frozen: Pick<FrozenBills, 'get'>;
  readonly clock: Clock;
  /** The time zone of the months. */
  readonly zone: Zone;
}

/**
 * Adds up an application's month from the records (rule B11), which are read as streams. An earlier month has the plans
 * of its end, the current month has the current plans. A future month is empty. The bill of a month whose usage was
 * deleted is the frozen bill.
 */
export async function makeBill(sources: BillSources, applicationId: string, month: Month): Promise<Bill> {
  const { usage, activity, plans, frozen, clock, zone } = sources;
  const nowMs = clock.now();
  const span = spanOf(month, zone);
  const sum = new BillSum(span);
  const toNow = compareMonths(month, monthAt(nowMs, zone));
  if (toNow > 0) return sum.bill(false);
  const read = async () => (toNow < 0 ? await frozen.get(applicationId, month) : undefined);
  const before = await read();
  if (before) return before;
  for await (const record of usage.around(applicationId, month)) sum.addUsage(record);
  for await (const change of activity.changes(applicationId)) sum.addChange(change);
  // Plans that were put in this millisecond are in force.
  const plansAtMs = toNow === 0 ? Number.POSITIVE_INFINITY : span.toMs;
  for await (const { deviceId, history } of plans.histories(applicationId)) {
    sum.addPlans(deviceId, plansBefore(history, plansAtMs));
  }
  // Usage that was deleted during the read was frozen before.
  return (await read()) ?? sum.bill(toNow === 0);
}
