import { defineSealingService } from '@headset-cloud/kit/service.ts';
import { buildUpdates } from './build.ts';
import { updatesConfig } from './config.ts';

export const updates = defineSealingService({
  name: 'updates',
  config: updatesConfig,
  build: buildUpdates,
});
