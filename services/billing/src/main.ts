import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/process.ts';
import { billing } from './definition.ts';

await main(billing.name, () => hostService(billing));
