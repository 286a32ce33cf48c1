import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Returns the caller of a changing call, which the gateway always sends. */
export function requireCaller(caller: Caller | undefined): Caller {
  if (!caller?.applicationId) throw new DomainError('invalid_argument', 'The call names no caller.');
  return caller;
}
