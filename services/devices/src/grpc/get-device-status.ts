import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { readableStatus } from '../device-status.ts';
import { requireActivated } from '../domain/activation.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** GET …/devices/{deviceId}/status: only for the application that has the device activated. */
export function getDeviceStatusHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['getDeviceStatus'] {
  return async ({ applicationId, deviceId }) => {
    const device = await deps.reader.withReport(deviceId);
    requireActivated(device?.activation, applicationId);
    return { status: device && readableStatus(device) };
  };
}
