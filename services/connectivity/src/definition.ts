import { defineService } from '@headset-cloud/kit/service.ts';
import { buildConnectivity } from './build.ts';
import { connectivityConfig } from './config.ts';

export const connectivity = defineService({
  name: 'connectivity',
  config: connectivityConfig,
  build: buildConnectivity,
});
