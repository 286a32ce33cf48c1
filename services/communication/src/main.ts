import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildCommunication } from './build.ts';
import { communicationConfigSpec } from './config.ts';
import { communicationFailpoints } from './failpoints.ts';

await main(() =>
  hostService({
    name: 'communication',
    config: communicationConfigSpec,
    failpoints: communicationFailpoints,
    build: buildCommunication,
  }),
);
