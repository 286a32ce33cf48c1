import { create } from '@bufbuild/protobuf';
import type { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import { ListConnectivitySchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { listedNetwork, listedTarget } from '../domain/list-query.ts';
import { type HandlerDependencies, operate } from './operate.ts';

/** Lists Bluetooth devices, Wi-Fi networks or access points. */
export function listConnectivityHandler(
  deps: HandlerDependencies,
): Handlers<typeof ConnectivityService>['listConnectivity'] {
  return async (request) =>
    operate(deps, request, {
      case: 'listConnectivity',
      value: create(ListConnectivitySchema, {
        networkType: listedNetwork(request.networkType),
        target: listedTarget(request.target),
      }),
    });
}
