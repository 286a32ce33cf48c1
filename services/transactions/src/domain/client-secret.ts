import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

/** The activation's specified operation. */
const activation = 'post-v1-applications-devices';

/**
 * An activation's operation without the client secret, which nobody needs once the headset has it; undefined where
 * there is none (rule A1, specification API 6).
 */
export function withoutClientSecret(of: {
  readonly operationId: string;
  readonly operation: Uint8Array;
}): Uint8Array | undefined {
  if (of.operationId !== activation) return undefined;
  const operation = fromBinary(OperationSchema, of.operation);
  if (operation.kind.case !== 'activate' || operation.kind.value.clientSecret === '') return undefined;
  operation.kind.value.clientSecret = '';
  return toBinary(OperationSchema, operation);
}
