import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import type { HandlerDependencies } from './dependencies.ts';

const mostDraws = 20;

/**
 * Changes a device's activation under a new transaction id, or under the id that an earlier run with the
 * same Idempotency-Key drew. Draws again while another change overtakes it.
 */
export async function changeDevice(
  deps: HandlerDependencies,
  caller: Caller,
  deviceId: string,
  change: (transactionId: number) => Promise<void>,
  /** Most unprocessed transactions of the device; absent: the change is made in any case. */
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
