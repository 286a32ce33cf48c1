import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/process.ts';
import { updates } from './definition.ts';

await main(updates.name, () => hostService(updates));
