import { hostService } from '@headset-cloud/process/host.ts';
import { main } from '@headset-cloud/process/process.ts';
import { billing } from './definition.ts';

await main(billing.name, () => hostService(billing));
