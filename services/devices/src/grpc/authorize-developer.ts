import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { refusals } from '../domain/refusals.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Checks for API calls without an application that the token's client belongs to a developer. */
export function authorizeDeveloperHandler(
  deps: HandlerDependencies,
): Handlers<typeof ApplicationsService>['authorizeDeveloper'] {
  return async ({ clientId }) => {
    const developerId = await deps.developers.developerOfClient(clientId);
    if (developerId === undefined) throw refusals.developerNotRegistered();
    return { developerId, limits: await deps.limits(undefined) };
  };
}
