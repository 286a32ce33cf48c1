import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { deactivateDevice } from '../activation/deactivate.ts';
import { requireCaller } from './caller.ts';
import { changeDevice } from './change-device.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** DELETE /v1/applications/{applicationId}/devices/{deviceId}. */
export function deactivateDeviceHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['deactivateDevice'] {
  return async ({ caller: given, deviceId }) => {
    const caller = requireCaller(given);
    const { applicationId } = caller;
    return changeDevice(deps, caller, deviceId, (transactionId) =>
      deps.audit.change({ applicationId, deviceId, clientId: caller.clientId }, (record) =>
        deactivateDevice(deps.activation, { applicationId, deviceId, transactionId, record }),
      ),
    );
  };
}
