import { hostService, main } from '@headset-cloud/kit/host.ts';
import { updates } from './definition.ts';

await main(updates.name, () => hostService(updates));
