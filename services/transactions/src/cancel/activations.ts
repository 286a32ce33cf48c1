import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { operationOf } from '@headset-cloud/proto/operations.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { CanceledTransaction } from '../ports/transitions.ts';

/**
 * Has devices undo the activation of a canceled transaction (ADR 0063). True: it is undone, or there is
 * nothing to undo. False: devices was unavailable, so the call must be repeated. Never throws, and may be
 * repeated at any time.
 */
export type UndoActivation = (
  canceled: Pick<CanceledTransaction, 'id' | 'deviceId' | 'operationId' | 'status'>,
) => Promise<boolean>;

export function createUndoActivation(deps: {
  readonly devices: Pick<Client<typeof DevicesService>, 'undoActivation'>;
  readonly logger: Logger;
}): UndoActivation {
  const { devices, logger } = deps;
  const activate = operationOf('activate').id;
  return async ({ id, deviceId, operationId, status }) => {
    if (operationId !== activate || status !== 'canceled') return true;
    try {
      await devices.undoActivation({ deviceId, transactionId: BigInt(id) });
      return true;
    } catch (error) {
      logger.warn(
        { transactionId: id, deviceId, err: error },
        'canceled activation not undone yet, retrying with the next sweep',
      );
      return false;
    }
  };
}
