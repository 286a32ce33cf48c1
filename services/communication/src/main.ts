import { hostService } from '@headset-cloud/process/host.ts';
import { main } from '@headset-cloud/process/process.ts';
import { communication } from './definition.ts';

await main(communication.name, () => hostService(communication));
