import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildBilling } from './build.ts';
import { billingConfigSpec } from './config.ts';
import { billingFailpoints } from './failpoints.ts';

await main(() =>
  hostService({
    name: 'billing',
    config: billingConfigSpec,
    failpoints: billingFailpoints,
    build: buildBilling,
  }),
);
