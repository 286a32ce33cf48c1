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
 * Computes an application's bill for a month from the records (rule B11), which are read as streams. An earlier month
 * has the plans at its end, the current month has the current plans. The bill of a future month is empty. If the
 * usage of the month was deleted, returns the frozen bill.
 */
export async function makeBill(sources: BillSources, applicationId: string, month: Month): Promise<Bill> {
  const { usage, activity, plans, frozen, clock, zone } = sources;
  const nowMs = clock.now();
  const span = spanOf(month, zone);
  const sum = new BillSum(span);
  const comparedToNow = compareMonths(month, monthAt(nowMs, zone));
  if (comparedToNow > 0) return sum.bill(false);
  const readFrozen = async () => (comparedToNow < 0 ? await frozen.get(applicationId, month) : undefined);
  const frozenBill = await readFrozen();
  if (frozenBill) return frozenBill;
  for await (const record of usage.around(applicationId, month)) sum.addUsage(record);
  for await (const change of activity.changes(applicationId)) sum.addChange(change);
  // For the current month all stored plans are in force, also plans that were stored in this millisecond.
  const plansAtMs = comparedToNow === 0 ? Number.POSITIVE_INFINITY : span.toMs;
  for await (const { deviceId, history } of plans.histories(applicationId)) {
    sum.addPlans(deviceId, plansBefore(history, plansAtMs));
  }
  // Retention freezes the bill before it deletes usage. If it deleted usage during this computation, the bill is frozen
  // now.
  return (await readFrozen()) ?? sum.bill(comparedToNow === 0);
}
