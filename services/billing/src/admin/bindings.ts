import { bind, type RpcBinding } from '@headset-cloud/kit/rpc/types.ts';
import { BillingAdminService } from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import type { BillSources } from '../make-bill.ts';
import type { PlansStore, UsageStore } from '../ports.ts';
import { billHandlers } from './bill.ts';
import { plansHandlers } from './plans.ts';
import { usageHandlers } from './usage.ts';

/** Dependencies of the operators' handlers. */
export interface AdminDependencies extends BillSources {
  readonly usage: UsageStore;
  readonly plans: PlansStore;
}

/** The operators' door (rule C17). */
export function adminBindings(deps: AdminDependencies): RpcBinding[] {
  return [
    bind(BillingAdminService, { ...plansHandlers(deps), ...usageHandlers(deps), ...billHandlers(deps) }),
  ];
}
