import { hostService } from '@headset-cloud/process/host.ts';
import { main } from '@headset-cloud/process/process.ts';
import { updates } from './definition.ts';

await main(updates.name, () => hostService(updates));
