import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildNotifier, notifierFailpoints } from './build.ts';
import { notifierConfigSpec } from './config.ts';

await main(() =>
  hostService({
    name: 'notifier',
    config: notifierConfigSpec,
    failpoints: notifierFailpoints,
    build: buildNotifier,
  }),
);
