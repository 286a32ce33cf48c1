import {
  DeliveryJudgeService,
  TransactionsService,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import { acceptHandler } from './accept.ts';
import { cancelTransactionsHandler } from './cancel-transactions.ts';
import { createTransactionHandler } from './create-transaction.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { drawTransactionIdHandler } from './draw-transaction-id.ts';
import { endActivationHandler } from './end-activation.ts';
import { getTransactionHandler } from './get-transaction.ts';
import { headsetOnlineHandler } from './headset-online.ts';
import { listTransactionsHandler } from './list-transactions.ts';
import { readOffersHandler } from './read-offers.ts';

/** Binds `TransactionsService` for all callers, and `DeliveryJudgeService` for device-link. */
export function rpcBindings(deps: HandlerDependencies): RpcBinding[] {
  return [
    bind(TransactionsService, {
      drawTransactionId: drawTransactionIdHandler(deps),
      createTransaction: createTransactionHandler(deps),
      getTransaction: getTransactionHandler(deps),
      listTransactions: listTransactionsHandler(deps),
      cancelTransactions: cancelTransactionsHandler(deps),
      endActivation: endActivationHandler(deps),
    }),
    bind(DeliveryJudgeService, {
      headsetOnline: headsetOnlineHandler(deps),
      readOffers: readOffersHandler(deps),
      accept: acceptHandler(deps),
    }),
  ];
}
