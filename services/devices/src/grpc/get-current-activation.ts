import type { HeadsetKeysService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * For device-link: the activation that a headset's welcome carries (rule A7). So a headset gets the activation even if
 * the transaction of the change was canceled. The answer contains the client secret in plain text and is for the
 * headset's own stream only.
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
