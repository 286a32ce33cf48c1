import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildNotifier } from './build.ts';
import { notifierConfigSpec } from './config.ts';
import { notifierFailpoints } from './failpoints.ts';

await main(() =>
  hostService({
    name: 'notifier',
    config: notifierConfigSpec,
    failpoints: notifierFailpoints,
    build: buildNotifier,
  }),
);
