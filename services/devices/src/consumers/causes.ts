import type { Report } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type Associations, notifiedApplication } from '../domain/association.ts';
import { isPairing, namedCause } from '../domain/connection-notification.ts';

type Transactions = Pick<Client<typeof TransactionsService>, 'getTransaction'>;

/** Maximum concurrent calls to transactions. */
const maxConcurrentCalls = 8;

/**
 * Returns the cause of each report whose cause is confirmed. A cause is confirmed if transactions knows it as a pairing
 * of the same device, by the application to be notified. An id that is not confirmed may belong to another application
 * (rule A16). Throws while transactions is unavailable. Reports without a cause need no call.
 */
export async function causesOf<T extends { readonly deviceId: string; readonly report?: Report }>(
  transactions: Transactions,
  received: readonly T[],
  associations: ReadonlyMap<string, Associations>,
): Promise<ReadonlyMap<T, number>> {
  const causes = new Map<T, number>();
  const named = received.flatMap((one) => {
    const cause = one.report && namedCause(one.report);
    const applicationId =
      cause && notifiedApplication(associations.get(one.deviceId), Number(one.report?.activationEpoch));
    return cause && applicationId ? [{ one, cause, applicationId }] : [];
  });
  for (let at = 0; at < named.length; at += maxConcurrentCalls) {
    await Promise.all(
      named.slice(at, at + maxConcurrentCalls).map(async ({ one, cause, applicationId }) => {
        const found = await transactionOf(transactions, applicationId, cause);
        if (isPairing(found, one.deviceId)) causes.set(one, cause);
      }),
    );
  }
  return causes;
}

/** Undefined if the application has no transaction with that id. */
async function transactionOf(transactions: Transactions, applicationId: string, id: number) {
  try {
    return (await transactions.getTransaction({ applicationId, transactionId: BigInt(id) })).transaction;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return undefined;
    throw error;
  }
}
