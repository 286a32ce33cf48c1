import { defineService } from '@headset-cloud/kit/service.ts';
import { buildDevices } from './build.ts';
import { devicesConfig } from './config.ts';
import { devicesFailpoints } from './failpoints.ts';

export const devices = defineService({
  name: 'devices',
  config: devicesConfig,
  failpoints: devicesFailpoints,
  build: buildDevices,
});
