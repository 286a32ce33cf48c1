import { hostService, main } from '@headset-cloud/kit/host.ts';
import { devices } from './definition.ts';

await main(devices.name, () => hostService(devices));
