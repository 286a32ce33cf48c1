import { defineService } from '@headset-cloud/process/service.ts';
import { buildConnectivity } from './build.ts';
import { connectivityConfig } from './config.ts';

export const connectivity = defineService({
  name: 'connectivity',
  config: connectivityConfig,
  build: buildConnectivity,
});
