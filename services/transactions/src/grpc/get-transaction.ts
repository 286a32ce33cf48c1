import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { toMessage } from '../messages.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Returns a transaction of the application; another application's transaction is 'not found'. */
export function getTransactionHandler({
  store,
}: HandlerDependencies): Handlers<typeof TransactionsService>['getTransaction'] {
  return async ({ applicationId, transactionId }) => {
    const t = await store.getListed(Number(transactionId));
    if (t?.applicationId !== applicationId) {
      throw new DomainError('not_found', 'The transaction was not found.');
    }
    return { transaction: toMessage(t) };
  };
}
