import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/process.ts';
import { devices } from './definition.ts';

await main(devices.name, () => hostService(devices));
