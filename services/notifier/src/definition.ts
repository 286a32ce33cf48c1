import { defineService } from '@headset-cloud/process/service.ts';
import { buildNotifier } from './build.ts';
import { notifierConfig } from './config.ts';

export const notifier = defineService({
  name: 'notifier',
  config: notifierConfig,
  build: buildNotifier,
});
