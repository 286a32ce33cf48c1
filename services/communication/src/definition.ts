import { defineSealingService } from '@headset-cloud/kit/service.ts';
import { buildCommunication } from './build.ts';
import { communicationConfig } from './config.ts';

export const communication = defineSealingService({
  name: 'communication',
  config: communicationConfig,
  build: buildCommunication,
});
