import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/process.ts';
import { transactions } from './definition.ts';

await main(transactions.name, () => hostService(transactions));
