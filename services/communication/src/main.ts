import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/process.ts';
import { communication } from './definition.ts';

await main(communication.name, () => hostService(communication));
