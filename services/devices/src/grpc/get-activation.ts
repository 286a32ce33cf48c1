import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { refusals } from '../domain/refusals.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * GET …/devices/{deviceId}. Returns `activated: false` for a deactivated, a new and an unknown device alike (rule A7).
 * Throws 403 if another application has activated the device (specification API 4).
 */
export function getActivationHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['getActivation'] {
  return async ({ applicationId, deviceId }) => {
    const activation = (await deps.reader.withReport(deviceId))?.activation;
    if (!activation) return { deviceId, activated: false };
    if (activation.applicationId !== applicationId) throw refusals.activatedByOther();
    return { deviceId, activated: true, clientId: activation.clientId };
  };
}
