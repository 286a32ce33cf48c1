import { hostService } from '@headset-cloud/kit/host.ts';
import { main } from '@headset-cloud/kit/main.ts';
import { transactions } from './definition.ts';

await main(transactions.name, () => hostService(transactions));
