import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { BillSources } from '../make-bill.ts';
import type { PlansStore, UsageStore } from '../ports.ts';

/** Dependencies of the operators' handlers. */
export interface AdminDependencies extends BillSources {
  readonly usage: UsageStore;
  readonly plans: PlansStore;
  readonly audit: Audit;
}
