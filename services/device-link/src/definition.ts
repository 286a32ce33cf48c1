import { defineService } from '@headset-cloud/process/service.ts';
import { buildDeviceLink } from './build.ts';
import { deviceLinkConfig } from './config.ts';

export const deviceLink = defineService({
  name: 'device-link',
  config: deviceLinkConfig,
  build: buildDeviceLink,
});
