import type { MessageInitShape } from '@bufbuild/protobuf';
import type { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { GatewayClients } from '../clients.ts';
import type { Answer } from '../http/answer.ts';
import { transactionCreated } from './encode.ts';
import type { Call } from './types.ts';

/** What the headset is to do. */
export type OperationKind = NonNullable<MessageInitShape<typeof OperationSchema>['kind']>;

/** Has the devices service create an operation's transaction, and answers it (decision 8: operationId). */
export async function operate(
  devices: Pick<GatewayClients['devices'], 'sendOperation'>,
  { applicationId, deviceId, caller }: Call,
  operationId: string,
  kind: OperationKind,
): Promise<Answer> {
  const { transactionId } = await devices.sendOperation({
    caller,
    deviceId,
    operationId,
    operation: { kind },
  });
  return transactionCreated(applicationId, transactionId);
}
