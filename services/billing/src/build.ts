import type { Service, ServiceContext } from '@headset-cloud/kit/service.ts';
import type { BillingConfig } from './config.ts';

/** The billing service: plans, metered usage, monthly bills. */
export function buildBilling(_ctx: ServiceContext, _config: BillingConfig): Service {
  return {
    name: 'billing',
    rpc: [],
    admin: [],
    async start() {},
    async stop() {},
    notReady: () => undefined,
  };
}
