import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { activateDevice } from '../activation/activate.ts';
import { purposes, sealText } from '../store/sealed-text.ts';
import { requireCaller } from './caller.ts';
import { changeDevice } from './change-device.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** POST /v1/applications/{applicationId}/devices/{deviceId}. */
export function activateDeviceHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['activateDevice'] {
  return async ({ caller: given, deviceId, clientId, clientSecret }) => {
    const caller = requireCaller(given);
    const sealed = clientSecret && sealText(deps.secrets, clientSecret, purposes.clientSecret(deviceId));
    const { applicationId } = caller;
    const fields = ['clientId', ...(sealed ? ['clientSecret'] : [])];
    const change = (transactionId: number) =>
      deps.audit.change({ applicationId, deviceId, clientId: caller.clientId, fields }, (record) =>
        activateDevice(deps.activation, {
          ...{ applicationId, deviceId, transactionId, clientId, record },
          ...(sealed && { clientSecret: sealed }),
        }),
      );
    const { deviceUnprocessed } = await deps.limits(applicationId);
    return changeDevice(deps, caller, deviceId, change, deviceUnprocessed);
  };
}
