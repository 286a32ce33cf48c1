import { defineService } from '@headset-cloud/kit/service.ts';
import { buildConnectivity } from './build.ts';
import { connectivityConfig } from './config.ts';
import { connectivityFailpoints } from './failpoints.ts';

export const connectivity = defineService({
  name: 'connectivity',
  config: connectivityConfig,
  failpoints: connectivityFailpoints,
  build: buildConnectivity,
});
