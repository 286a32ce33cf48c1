import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Maximum transaction ids that one call draws. */
const maxDraws = 20;

/**
 * Changes a device's activation with a new transaction id, or with the id of an earlier call with the same
 * Idempotency-Key. If another change came first, draws a new id and tries again.
 */
export async function changeDevice(
  deps: HandlerDependencies,
  caller: Caller,
  deviceId: string,
  change: (transactionId: number) => Promise<void>,
  /** Maximum unprocessed transactions of the device; absent: not limited. */
  deviceUnprocessedLimit?: number,
): Promise<{ transactionId: bigint }> {
  for (let draws = 1; ; draws += 1) {
    try {
      const transactionId = await deps.idempotency.run(caller, {
        draw: async () => {
          const request = { deviceId, deviceUnprocessedLimit };
          return Number((await deps.transactions.drawTransactionId(request)).transactionId);
        },
        work: async (drawn) => {
          await change(drawn);
          return drawn;
        },
      });
      return { transactionId: BigInt(transactionId) };
    } catch (error) {
      const overtaken = error instanceof DomainError && error.code === 'conflict';
      if (!overtaken || draws === maxDraws) throw error;
    }
  }
}
