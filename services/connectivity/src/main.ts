import { hostService, main } from '@headset-cloud/kit/host.ts';
import { connectivity } from './definition.ts';

await main(connectivity.name, () => hostService(connectivity));
