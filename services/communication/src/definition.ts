import { defineSealingService } from '@headset-cloud/process/service.ts';
import { buildCommunication } from './build.ts';
import { communicationConfig } from './config.ts';

export const communication = defineSealingService({
  name: 'communication',
  config: communicationConfig,
  build: buildCommunication,
});
