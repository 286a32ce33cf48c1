import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { cancelTransactions, planCancel } from '../cancel/request.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Cancels the device's transactions that may be canceled (rule A10). */
export function cancelTransactionsHandler(
  deps: HandlerDependencies,
): Handlers<typeof TransactionsService>['cancelTransactions'] {
  return async ({ caller, deviceId }) => {
    const owner = { applicationId: caller?.applicationId ?? '', deviceId };
    const ids = await deps.idempotency.run(caller, {
      draw: () => planCancel(deps, owner),
      work: (plan) => cancelTransactions(deps, { ...owner, plan }),
    });
    return { canceledTransactionIds: ids.map(BigInt) };
  };
}
