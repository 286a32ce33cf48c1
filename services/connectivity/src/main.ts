import { hostService, main } from '@headset-cloud/kit/host.ts';
import { connectivity } from './definition.ts';

await main(() => hostService(connectivity));
