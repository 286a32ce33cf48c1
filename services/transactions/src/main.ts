import { hostService } from '@headset-cloud/process/host.ts';
import { main } from '@headset-cloud/process/process.ts';
import { transactions } from './definition.ts';

await main(transactions.name, () => hostService(transactions));
