import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { isEndpointSetting } from '../domain/settings.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * For the notifier, before each attempt: the URL of a setting and the key (rule A18). An unknown application has no
 * settings.
 */
export function getDestinationHandler(
  deps: HandlerDependencies,
): Handlers<typeof ApplicationsService>['getDestination'] {
  return async ({ applicationId, setting }) => {
    if (!isEndpointSetting(setting)) {
      throw new DomainError('invalid_argument', `${setting} is not a setting that holds an address.`);
    }
    const settings = await deps.applications.settings(applicationId);
    return { url: settings?.[setting] ?? '', authenticationKey: settings?.authenticationKey ?? '' };
  };
}
