import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { refusals } from '../domain/refusals.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** GET /v1/applications/{applicationId}. */
export function getSettingsHandler(
  deps: HandlerDependencies,
): Handlers<typeof ApplicationsService>['getSettings'] {
  return async ({ applicationId }) => {
    const settings = await deps.applications.settings(applicationId);
    if (!settings) throw refusals.applicationForbidden();
    return { settings };
  };
}
