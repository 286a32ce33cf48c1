import type { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requireMonth } from '../domain/month.ts';
import { type BillSources, makeBill } from '../make-bill.ts';
import { billMessage } from '../messages.ts';
import type { BillingMetrics } from '../metrics.ts';

/** An application's month, for the gateway. */
export function getBillHandler(
  sources: BillSources,
  metrics: Pick<BillingMetrics, 'bill'>,
): Handlers<typeof BillingService>['getBill'] {
  return async ({ applicationId, year, month }) =>
    metrics.bill(async () =>
      billMessage(await makeBill(sources, applicationId, requireMonth({ year, month }))),
    );
}
