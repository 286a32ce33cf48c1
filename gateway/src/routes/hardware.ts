import type { Camera, GetHardwarePropertiesResponse } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { GatewayClients } from '../clients.ts';
import type { Handlers } from './types.ts';

const cameraJson = (c: Camera) => ({
  direction: c.direction,
  mountedPosition: c.mountedPosition,
  resolution: { maxWidth: c.maxWidth, maxHeight: c.maxHeight },
});

/** The read form. Fields that are not registered or reported are null; only specificDestination is absent. */
function hardwareJson({ model, ...h }: GetHardwarePropertiesResponse): object {
  const { specificDestination } = h;
  return {
    deviceId: h.deviceId,
    model: model
      ? { name: model.name, identifier: model.identifier, description: model.description, shape: model.shape }
      : null,
    camera: model && model.cameras.length > 0 ? model.cameras.map(cameraJson) : null,
    macAddressWifi: h.macAddressWifi ?? null,
    macAddressBluetooth: h.macAddressBluetooth ?? null,
    ...(specificDestination !== undefined && { specificDestination }),
  };
}

/**
 * Hardware properties: the only device call without an application, so the devices service checks the client (rule A3).
 */
export function hardwareHandlers({ devices }: Pick<GatewayClients, 'devices'>): Handlers {
  return {
    'get-v1-devices-hardware-properties': async ({ caller, deviceId }) => ({
      status: 200,
      json: hardwareJson(await devices.getHardwareProperties({ clientId: caller.clientId ?? '', deviceId })),
    }),
  };
}
