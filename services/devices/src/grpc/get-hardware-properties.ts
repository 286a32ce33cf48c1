import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { refusals } from '../domain/refusals.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * GET /v1/devices/{deviceId}/hardware-properties. The call names no application (rule A3). The device must be activated
 * by an application of the developer of the token's client. Unknown fields are absent.
 */
export function getHardwarePropertiesHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['getHardwareProperties'] {
  return async ({ clientId, deviceId }) => {
    const [developerId, hardware] = await Promise.all([
      deps.developers.developerOfClient(clientId),
      deps.reader.hardware(deviceId),
    ]);
    if (developerId === undefined) throw refusals.developerNotRegistered();
    if (hardware?.applicationId === undefined) throw refusals.notActivated();
    const application = await deps.applications.get(hardware.applicationId);
    if (application?.developerId !== developerId) throw refusals.activatedByOther();
    const { modelIdentifier, macAddressWifi, macAddressBluetooth, specificDestination } = hardware;
    const model = modelIdentifier === undefined ? undefined : await deps.hardwareModels.find(modelIdentifier);
    return {
      deviceId,
      ...(model && { model: { ...model, cameras: [...model.cameras] } }),
      macAddressWifi,
      macAddressBluetooth,
      specificDestination,
    };
  };
}
