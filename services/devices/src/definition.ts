import { defineSealingService } from '@headset-cloud/kit/service.ts';
import { buildDevices } from './build.ts';
import { devicesConfig } from './config.ts';
import { devicesFailpoints } from './failpoints.ts';

export const devices = defineSealingService({
  name: 'devices',
  config: devicesConfig,
  failpoints: devicesFailpoints,
  build: buildDevices,
});
