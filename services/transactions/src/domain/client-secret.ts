import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { OperationSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';

/** The activation's specified operation. */
const activation = 'post-v1-applications-devices';

/**
 * An activation's operation without the client secret, which nobody needs once the headset has it; undefined where
 * there is none, or where the operation cannot be read (specification API 7).
 */
export function withoutClientSecret(of: {
  readonly operationId: string;
  readonly operation: Uint8Array;
}): Uint8Array | undefined {
  if (of.operationId !== activation) return undefined;
  const operation = readable(of.operation);
  if (operation?.kind.case !== 'activate' || operation.kind.value.clientSecret === '') return undefined;
  operation.kind.value.clientSecret = '';
  return toBinary(OperationSchema, operation);
}

/** What cannot be read stays as it is: the end of its transaction does not depend on it. */
function readable(bytes: Uint8Array) {
  try {
    return fromBinary(OperationSchema, bytes);
  } catch {
    return undefined;
  }
}
