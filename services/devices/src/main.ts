import { hostService } from '@headset-cloud/process/host.ts';
import { main } from '@headset-cloud/process/process.ts';
import { devices } from './definition.ts';

await main(devices.name, () => hostService(devices));
