import { hostService, main } from '@headset-cloud/kit/host.ts';
import { communication } from './definition.ts';

await main(communication.name, () => hostService(communication));
