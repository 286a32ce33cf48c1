import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/process.ts';
import { deviceLink } from './definition.ts';

await main(deviceLink.name, () => hostService(deviceLink));
