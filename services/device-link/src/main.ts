import { hostService } from '@headset-cloud/process/host.ts';
import { main } from '@headset-cloud/process/process.ts';
import { deviceLink } from './definition.ts';

await main(deviceLink.name, () => hostService(deviceLink));
