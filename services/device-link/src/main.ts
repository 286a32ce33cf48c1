import { hostService, main } from '@headset-cloud/kit/host.ts';
import { deviceLink } from './definition.ts';

await main(deviceLink.name, () => hostService(deviceLink));
