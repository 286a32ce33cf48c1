import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { setOrLeaveOut } from '@headset-cloud/runtime/set-or-leave-out.ts';
import { Gauge, type Registry } from 'prom-client';
import { openStatuses } from './domain/state.ts';
import type { Queries } from './ports/queries.ts';

/** Transactions by state and the age of the oldest. Read at each scrape. */
export function registerMetrics(registry: Registry, store: Queries, clock: Clock): void {
  new Gauge({
    name: 'headset_transactions_open',
    help: 'Unprocessed transactions by state. Whole platform: use max, not sum.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const state of openStatuses) await setOrLeaveOut(this, { state }, () => store.countOpen(state));
    },
  });
  new Gauge({
    name: 'headset_transactions_revocations_open',
    help: 'Started transactions that the cloud wishes to cancel and whose headset has not answered. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, () => store.countWishes());
    },
  });
  new Gauge({
    name: 'headset_transactions_due',
    help: 'Transactions that the sweeper has to look at, now or later; 0 when nothing is under way. Whole platform: use max, not sum.',
    registers: [registry],
    async collect() {
      await setOrLeaveOut(this, {}, () => store.countDue());
    },
  });
  new Gauge({
    name: 'headset_transactions_oldest_open_age_seconds',
    help: 'Age of the oldest unprocessed transaction by state; 0 when there is none. Whole platform: use max, not sum.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      for (const state of openStatuses) {
        await setOrLeaveOut(this, { state }, async () => {
          const at = await store.oldestOpenAtMs(state);
          return at === undefined ? 0 : (clock.now() - at) / 1000;
        });
      }
    },
  });
}
