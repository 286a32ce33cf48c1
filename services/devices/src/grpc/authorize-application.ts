import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { refusals } from '../domain/refusals.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Checks for each API call that the token's client belongs to the developer who owns the application. */
export function authorizeApplicationHandler(
  deps: HandlerDependencies,
): Handlers<typeof ApplicationsService>['authorizeApplication'] {
  return async ({ clientId, applicationId }) => {
    const [developerId, application, limits] = await Promise.all([
      deps.developers.developerOfClient(clientId),
      deps.applications.get(applicationId),
      deps.limits(applicationId),
    ]);
    if (developerId === undefined) throw refusals.developerNotRegistered();
    if (application?.developerId !== developerId) throw refusals.applicationForbidden();
    return { developerId, limits };
  };
}
