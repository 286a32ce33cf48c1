import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requireVersion } from '../domain/names.ts';
import { refusals } from '../domain/refusals.ts';
import { requireCaller } from './caller.ts';
import { chosen, findArtifact } from './deliverable.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { sendUpdate } from './send-update.ts';

/**
 * PUT …/devices/{deviceId}/firmware: update now. The order of checks is that of rule A3. The catalogue is checked here.
 * Then devices checks the device's state and rejects a version older than the reported version. transactions rejects a
 * version older than an unprocessed update (specification API 5, rule A13). Each service checks the state that it owns.
 */
export function updateFirmwareHandler(
  deps: HandlerDependencies,
): Handlers<typeof UpdatesService>['updateFirmware'] {
  return async ({ caller: given, deviceId, version }) => {
    const caller = requireCaller(given);
    requireVersion(version);
    return sendUpdate(deps, {
      caller,
      deviceId,
      choose: async () => {
        const found = await findArtifact(deps, { kind: 'firmware', package: '', version });
        if (found?.state !== 'deliverable') throw refusals.firmwareNotDeliverable(version);
        return chosen(found);
      },
      operation: (artifact) => ({ case: 'updateFirmware', value: { version, artifact } }),
    });
  };
}
