import type { BillingAdminService } from '@headset-cloud/proto/billing/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requireApplicationId } from '../domain/ids.ts';
import { requireMonth } from '../domain/month.ts';
import { type BillSources, makeBill } from '../make-bill.ts';
import { billMessage } from '../messages.ts';

/** Shows the bill that the integrator gets. */
export function billHandlers(sources: BillSources): Pick<Handlers<typeof BillingAdminService>, 'showBill'> {
  return {
    async showBill({ applicationId, year, month }) {
      requireApplicationId(applicationId);
      return { bill: billMessage(await makeBill(sources, applicationId, requireMonth({ year, month }))) };
    },
  };
}
