import type { Operation } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { operationOf } from '@headset-cloud/proto/operations.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type OperationToSend, sendOperation } from '../operations/send.ts';
import { requireCaller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * Sends an operation to an activated device. Operations that change the activation have separate calls and are
 * rejected.
 */
export function sendOperationHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['sendOperation'] {
  return async ({ caller: given, deviceId, operation }) => {
    const caller = requireCaller(given);
    if (!isSendable(operation)) throw new DomainError('invalid_argument', 'The call carries no operation.');
    return { transactionId: await sendOperation(deps, { caller, deviceId, operation }) };
  };
}

const isSendable = (operation: Operation | undefined): operation is OperationToSend['operation'] =>
  operation?.kind.case !== undefined && !operationOf(operation.kind.case).changesActivation;
