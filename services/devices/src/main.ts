import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildDevices } from './build.ts';
import { devicesConfigSpec } from './config.ts';
import { devicesFailpoints } from './failpoints.ts';

await main(() =>
  hostService({
    name: 'devices',
    config: devicesConfigSpec,
    failpoints: devicesFailpoints,
    build: buildDevices,
  }),
);
