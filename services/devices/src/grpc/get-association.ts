import type { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { HandlerDependencies } from './dependencies.ts';

/**
 * For notifications of other services: the application that has activated the device, and since which activation epoch.
 */
export function getAssociationHandler(
  deps: HandlerDependencies,
): Handlers<typeof DevicesService>['getAssociation'] {
  return async ({ deviceId }) => {
    const known = await deps.reader.associations(deviceId);
    return {
      applicationId: known?.current?.applicationId ?? '',
      sinceEpoch: BigInt(known?.current?.sinceEpoch ?? 0),
      epoch: BigInt(known?.epoch ?? 0),
    };
  };
}
