import { defineService } from '@headset-cloud/kit/service.ts';
import { buildNotifier } from './build.ts';
import { notifierConfig } from './config.ts';
import { notifierFailpoints } from './failpoints.ts';

export const notifier = defineService({
  name: 'notifier',
  config: notifierConfig,
  failpoints: notifierFailpoints,
  build: buildNotifier,
});
