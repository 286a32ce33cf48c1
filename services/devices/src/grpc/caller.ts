import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';

/** The caller of a changing call; the gateway always names it. */
export function requireCaller(caller: Caller | undefined): Caller {
  if (!caller?.applicationId) throw new DomainError('invalid_argument', 'The call names no caller.');
  return caller;
}
