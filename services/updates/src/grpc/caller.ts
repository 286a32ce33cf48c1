import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Returns the caller. Throws `invalid_argument` if it is missing; the gateway always sends it. */
export function requireCaller(caller: Caller | undefined): Caller {
  if (!caller?.applicationId) throw new DomainError('invalid_argument', 'The call names no caller.');
  return caller;
}

/** The developer that owns the application. Throws the error of devices if the client may not use the application. */
export async function developerOf(deps: HandlerDependencies, caller: Caller): Promise<string> {
  const { clientId, applicationId } = caller;
  return (await deps.applications.authorizeApplication({ clientId, applicationId })).developerId;
}
