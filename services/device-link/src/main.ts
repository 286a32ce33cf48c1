import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildDeviceLink } from './build.ts';
import { deviceLinkConfig } from './config.ts';
import { deviceLinkFailpoints } from './failpoints.ts';

await main(() =>
  hostService({
    name: 'device-link',
    config: deviceLinkConfig,
    failpoints: deviceLinkFailpoints,
    build: buildDeviceLink,
  }),
);
