import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/process.ts';
import { connectivity } from './definition.ts';

await main(connectivity.name, () => hostService(connectivity));
