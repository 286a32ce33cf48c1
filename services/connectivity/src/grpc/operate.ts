import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { type OperationInit, type OperationKind, operationRequest } from '@headset-cloud/proto/operations.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Dependencies of the RPCs. */
export interface HandlerDependencies {
  readonly devices: Pick<Client<typeof DevicesService>, 'sendOperation'>;
}

/** The part of a request that names the caller and the device. */
interface Subject {
  readonly caller?: Caller | undefined;
  readonly deviceId: string;
}

/**
 * Creates the operation's transaction by a call to devices. devices decides whether the application may operate the
 * device now, and answers a repeated call with the same Idempotency-Key like the first call. Throws the errors of
 * devices unchanged.
 */
export async function operate(
  { devices }: HandlerDependencies,
  { caller, deviceId }: Subject,
  kind: OperationInit & { case: OperationKind },
): Promise<{ transactionId: bigint }> {
  if (!caller?.applicationId) throw new DomainError('invalid_argument', 'The call names no caller.');
  const { transactionId } = await devices.sendOperation({ caller, deviceId, ...operationRequest(kind) });
  return { transactionId };
}
