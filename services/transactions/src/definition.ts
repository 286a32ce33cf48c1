import { defineSealingService } from '@headset-cloud/kit/service.ts';
import { buildTransactions } from './build.ts';
import { transactionsConfig } from './config.ts';
import { transactionsFailpoints } from './failpoints.ts';

export const transactions = defineSealingService({
  name: 'transactions',
  config: transactionsConfig,
  failpoints: transactionsFailpoints,
  build: buildTransactions,
});
