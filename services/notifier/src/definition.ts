import { defineService } from '@headset-cloud/kit/service.ts';
import { buildNotifier } from './build.ts';
import { notifierConfig } from './config.ts';

export const notifier = defineService({
  name: 'notifier',
  config: notifierConfig,
  build: buildNotifier,
});
