import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildConnectivity } from './build.ts';
import { connectivityConfigSpec } from './config.ts';
import { connectivityFailpoints } from './failpoints.ts';

await main(() =>
  hostService({
    name: 'connectivity',
    config: connectivityConfigSpec,
    failpoints: connectivityFailpoints,
    build: buildConnectivity,
  }),
);
