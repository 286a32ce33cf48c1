import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { HandlerDependencies } from './dependencies.ts';

const mostDraws = 20;

/**
 * Changes a device's activation with a new transaction id, or with the id of an earlier run with the same
 * Idempotency-Key. Uses a new id if another change came first.
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
          const wanted = { deviceId, deviceUnprocessedLimit };
          return Number((await deps.transactions.drawTransactionId(wanted)).transactionId);
        },
        work: async (drawn) => {
          await change(drawn);
          return drawn;
        },
      });
      return { transactionId: BigInt(transactionId) };
    } catch (error) {
      const overtaken = error instanceof DomainError && error.code === 'conflict';
      if (!overtaken || draws === mostDraws) throw error;
    }
  }
}
