import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * For device-link: the activation in a headset's welcome (rule A7). With the welcome, a headset gets its activation
 * even if the transaction of the activation was canceled. The response contains the client secret in plain text, so it
 * may be sent only to the headset itself.
 */
export function getCurrentActivationHandler(
  deps: HandlerDependencies,
): Handlers<typeof HeadsetKeysService>['getCurrentActivation'] {
  return async ({ deviceId }) => {
    const current = await deps.reader.currentActivation(deviceId);
    if (!current) return {};
    const { epoch, lastTransactionId, activation } = current;
    const sealed = activation?.clientSecret;
    return {
      activation: {
        epoch: BigInt(epoch),
        revision: BigInt(lastTransactionId),
        ...(activation && {
          applicationId: activation.applicationId,
          clientId: activation.clientId,
          clientSecret: sealed === undefined ? '' : deps.activation.openClientSecret(deviceId, sealed),
          sinceEpoch: BigInt(activation.sinceEpoch),
        }),
      },
    };
  };
}
