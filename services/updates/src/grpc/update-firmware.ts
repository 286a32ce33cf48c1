import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { requireVersion } from '../domain/names.ts';
import { refusals } from '../domain/refusals.ts';
import { requireCaller } from './caller.ts';
import { chosen, findArtifact } from './deliverable.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { sendUpdate } from './send-update.ts';

/**
 * PUT …/devices/{deviceId}/firmware: update now. The order of checks is rule A3's: here the catalogue,
 * then devices checks the device's state and refuses an older version than the device has reported,
 * transactions one that is older than an unprocessed update leads to (specification API 5, rule
 * A13). Both know what they judge by where it changes.
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
