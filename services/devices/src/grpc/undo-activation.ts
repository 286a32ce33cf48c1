import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { undoActivation } from '../activation/undo.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** For transactions: the transaction of an activation was canceled (ADR 0063). */
export function undoActivationHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['undoActivation'] {
  return async ({ deviceId, transactionId }) => {
    await undoActivation(deps.activation, { deviceId, transactionId: Number(transactionId) });
    return {};
  };
}
