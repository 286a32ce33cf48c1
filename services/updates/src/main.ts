import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildUpdates } from './build.ts';
import { updatesConfigSpec } from './config.ts';
import { updatesFailpoints } from './failpoints.ts';

await main(() =>
  hostService({
    name: 'updates',
    config: updatesConfigSpec,
    failpoints: updatesFailpoints,
    build: buildUpdates,
  }),
);
