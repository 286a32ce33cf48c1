import { hostService, main } from '@headset-cloud/kit/host.ts';
import { transactions } from './definition.ts';

await main(transactions.name, () => hostService(transactions));
