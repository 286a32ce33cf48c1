import { hostService } from '@headset-cloud/process/host.ts';
import { main } from '@headset-cloud/process/process.ts';
import { connectivity } from './definition.ts';

await main(connectivity.name, () => hostService(connectivity));
