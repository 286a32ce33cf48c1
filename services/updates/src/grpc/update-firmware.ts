import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requireVersion } from '../domain/names.ts';
import { refusals } from '../domain/refusals.ts';
import { requireCaller } from './caller.ts';
import { findArtifact, updateContentOf } from './deliverable.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { sendUpdate } from './send-update.ts';

/**
 * PUT …/devices/{deviceId}/firmware: update now. Rule A3 defines the order of the checks. Each service checks the state
 * that it owns: this service checks the catalogue. Then the devices service checks the device's state and rejects a
 * version older than the reported version. The transactions service rejects a version older than an unprocessed update
 * (specification API 5, rule A13).
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
        return updateContentOf(found);
      },
      operation: (artifact) => ({ case: 'updateFirmware', value: { version, artifact } }),
    });
  };
}
