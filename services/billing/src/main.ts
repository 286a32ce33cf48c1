import { hostService, main } from '@headset-cloud/kit/host.ts';
import { billing } from './definition.ts';

await main(billing.name, () => hostService(billing));
