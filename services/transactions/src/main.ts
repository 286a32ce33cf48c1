import { hostService, main } from '@headset-cloud/kit/host.ts';
import { buildTransactions, transactionsFailpoints } from './build.ts';
import { transactionsConfig } from './config.ts';

await main(() =>
  hostService({
    name: 'transactions',
    config: transactionsConfig,
    failpoints: transactionsFailpoints,
    build: buildTransactions,
  }),
);
