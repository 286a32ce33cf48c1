import { defineSealingService } from '@headset-cloud/process/service.ts';
import { buildDevices } from './build.ts';
import { devicesConfig } from './config.ts';

export const devices = defineSealingService({
  name: 'devices',
  config: devicesConfig,
  build: buildDevices,
});
