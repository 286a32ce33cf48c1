import { defineSealingService } from '@headset-cloud/process/service.ts';
import { buildTransactions } from './build.ts';
import { transactionsConfig } from './config.ts';

export const transactions = defineSealingService({
  name: 'transactions',
  config: transactionsConfig,
  build: buildTransactions,
});
