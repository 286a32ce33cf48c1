import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { resetDevice } from '../activation/reset.ts';
import { requireCaller } from './caller.ts';
import { changeDevice } from './change-device.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** PUT /v1/applications/{applicationId}/devices/{deviceId}/reset. */
export function resetDeviceHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['resetDevice'] {
  return async ({ caller: given, deviceId }) => {
    const caller = requireCaller(given);
    const { applicationId } = caller;
    return changeDevice(deps, caller, deviceId, (transactionId) =>
      deps.audit.change({ applicationId, deviceId, clientId: caller.clientId }, (record) =>
        resetDevice(deps.activation, { applicationId, deviceId, transactionId, record }),
      ),
    );
  };
}
