import { defineService } from '@headset-cloud/process/service.ts';
import { buildBilling } from './build.ts';
import { billingConfig } from './config.ts';

export const billing = defineService({
  name: 'billing',
  config: billingConfig,
  build: buildBilling,
});
