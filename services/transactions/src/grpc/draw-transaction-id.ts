import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { deviceFull } from '../domain/full.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Draws the id of a transaction that is created later, after the caller has stored its own change (rule B8). */
export function drawTransactionIdHandler({
  store,
  limits,
}: HandlerDependencies): Handlers<typeof TransactionsService>['drawTransactionId'] {
  return async ({ deviceId, deviceUnprocessedLimit: most }) => {
    if (most > 0 && (await limits.ofDevice.isFull(deviceId, most))) throw deviceFull(most);
    return { transactionId: BigInt(await store.drawIdFor(deviceId)) };
  };
}
