import { create } from '@bufbuild/protobuf';
import type { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import { NetworkType, ResetConnectivitySchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { type HandlerDependencies, operate } from './operate.ts';

/** Resets Bluetooth: pairings and settings. */
export function resetConnectivityHandler(
  deps: HandlerDependencies,
): Handlers<typeof ConnectivityService>['resetConnectivity'] {
  return async (request) =>
    operate(deps, request, {
      case: 'resetConnectivity',
      value: create(ResetConnectivitySchema, { networkType: NetworkType.BLUETOOTH }),
    });
}
