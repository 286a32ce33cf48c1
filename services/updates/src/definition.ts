import { defineSealingService } from '@headset-cloud/kit/service.ts';
import { buildUpdates } from './build.ts';
import { updatesConfig } from './config.ts';
import { updatesFailpoints } from './failpoints.ts';

export const updates = defineSealingService({
  name: 'updates',
  config: updatesConfig,
  failpoints: updatesFailpoints,
  build: buildUpdates,
});
