import { defineSealingService } from '@headset-cloud/process/service.ts';
import { buildUpdates } from './build.ts';
import { updatesConfig } from './config.ts';

export const updates = defineSealingService({
  name: 'updates',
  config: updatesConfig,
  build: buildUpdates,
});
