import { type OperationInit, type OperationKind, operationRequest } from '@headset-cloud/proto/operations.ts';
import type { GatewayClients } from '../clients.ts';
import type { Answer } from '../http/answer.ts';
import { transactionCreated } from './encode.ts';
import type { Call } from './types.ts';

/** Calls the devices service to create the transaction of an operation. Returns the answer with the transaction. */
export async function operate(
  devices: Pick<GatewayClients['devices'], 'sendOperation'>,
  { applicationId, deviceId, caller }: Call,
  kind: OperationInit & { case: OperationKind },
): Promise<Answer> {
  const { transactionId } = await devices.sendOperation({ caller, deviceId, ...operationRequest(kind) });
  return transactionCreated(applicationId, transactionId);
}
