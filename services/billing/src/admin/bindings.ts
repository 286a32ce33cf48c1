import { BillingAdminService } from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { billHandlers } from './bill.ts';
import type { AdminDependencies } from './dependencies.ts';
import { plansHandlers } from './plans.ts';
import { usageHandlers } from './usage.ts';

/** The operators' listener (rule C17). */
export function adminBindings(deps: AdminDependencies): RpcBinding[] {
  return [
    bind(BillingAdminService, { ...plansHandlers(deps), ...usageHandlers(deps), ...billHandlers(deps) }),
  ];
}
