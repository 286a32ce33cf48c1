import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { sortOf, statusesOf, toMessage } from '../messages.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Returns a page of an application's transactions. */
export function listTransactionsHandler({
  store,
  completeFromMs,
}: HandlerDependencies): Handlers<typeof TransactionsService>['listTransactions'] {
  return async (request) => {
    const statuses = statusesOf(request.completionStatus);
    const found = await store.list({
      applicationId: request.applicationId,
      ...(request.deviceId && { deviceId: request.deviceId }),
      ...(statuses && { statuses }),
      sortBy: sortOf(request.sortBy),
      descending: request.descending,
      skip: (request.page - 1) * request.perPage,
      // One more than the page, to find out whether there is a next page.
      limit: request.perPage + 1,
    });
    // This time is read after the list, so that it accounts for everything deleted before the list was read.
    const from = await completeFromMs();
    return {
      transactions: found.slice(0, request.perPage).map(toMessage),
      isNext: found.length > request.perPage,
      ...(from !== undefined && { completeFromMs: BigInt(from) }),
    };
  };
}
