import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requirePackage, requireVersion } from '../domain/names.ts';
import { refusals } from '../domain/refusals.ts';
import { developerOf, requireCaller } from './caller.ts';
import { findArtifact, updateContentOf } from './deliverable.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { sendUpdate } from './send-update.ts';

/**
 * PUT …/devices/{deviceId}/apps: update now. The version must be deliverable and belong to the developer. A version of
 * another developer gets the same error as an unknown version. A downgrade of an app is allowed: the specification
 * forbids only a downgrade of firmware.
 */
export function updateAppHandler(deps: HandlerDependencies): Handlers<typeof UpdatesService>['updateApp'] {
  return async ({ caller: given, deviceId, package: packageName, version }) => {
    const caller = requireCaller(given);
    requirePackage(packageName);
    requireVersion(version);
    return sendUpdate(deps, {
      caller,
      deviceId,
      choose: async () => {
        const developerId = await developerOf(deps, caller);
        const found = await findArtifact(deps, { kind: 'software', package: packageName, version });
        const own = found?.developerId === developerId ? found : undefined;
        if (own?.state !== 'deliverable') throw refusals.notDeliverable(packageName, version, own);
        // From here on the developer cannot withdraw the version: no transaction names a withdrawn version.
        if (own.named === false && !(await deps.catalogue.markSent(own.id, own.objectKey))) {
          throw refusals.notDeliverable(packageName, version, await deps.catalogue.get(own.id));
        }
        return updateContentOf(own);
      },
      operation: (artifact) => ({ case: 'updateApp', value: { package: packageName, version, artifact } }),
    });
  };
}
