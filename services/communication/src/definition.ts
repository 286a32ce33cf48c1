import { defineSealingService } from '@headset-cloud/kit/service.ts';
import { buildCommunication } from './build.ts';
import { communicationConfig } from './config.ts';
import { communicationFailpoints } from './failpoints.ts';

export const communication = defineSealingService({
  name: 'communication',
  config: communicationConfig,
  failpoints: communicationFailpoints,
  build: buildCommunication,
});
