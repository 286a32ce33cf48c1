import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import { isOlder } from '@headset-cloud/kit/version.ts';
import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { requireVersion } from '../domain/names.ts';
import { refusals } from '../domain/refusals.ts';
import { requireCaller } from './caller.ts';
import { chosen, findArtifact } from './deliverable.ts';
import type { HandlerDependencies } from './dependencies.ts';
import { sendUpdate } from './send-update.ts';

/**
 * PUT …/devices/{deviceId}/firmware: update now. An older version than the device reported is refused
 * (specification section 5); an equal one is none (ruling A13), and what a device has not reported
 * cannot be compared. The order of checks is ruling A3's: the catalogue, the device's state, then
 * what both say together, then the destination.
 */
export function updateFirmwareHandler(
  deps: HandlerDependencies,
): Handlers<typeof UpdatesService>['updateFirmware'] {
  return async ({ caller: given, deviceId, version }) => {
    const caller = requireCaller(given);
    const { applicationId } = caller;
    requireVersion(version);
    return sendUpdate(deps, {
      caller,
      deviceId,
      operationId: 'put-v1-applications-devices-firmware',
      subject: version,
      choose: async () => {
        const found = await findArtifact(deps, { kind: 'firmware', package: '', version });
        if (found?.state !== 'deliverable') throw refusals.firmwareNotDeliverable(version);
        const { status } = await deps.devices.getDeviceStatus({ applicationId, deviceId });
        const current = status?.firmwareVersion;
        if (current && isOlder(version, current)) throw refusals.firmwareDowngrade(version, current);
        return chosen(found);
      },
      operation: (artifact) => ({ kind: { case: 'updateFirmware', value: { version, artifact } } }),
    });
  };
}
