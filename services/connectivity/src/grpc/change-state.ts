import { create } from '@bufbuild/protobuf';
import type { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import {
  NetworkType,
  SetConnectivityStateSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { type HandlerDependencies, operate } from './operate.ts';

/** Switches Bluetooth on or off. */
export function changeStateHandler(
  deps: HandlerDependencies,
): Handlers<typeof ConnectivityService>['changeState'] {
  return async (request) =>
    operate(deps, request, {
      case: 'setConnectivityState',
      value: create(SetConnectivityStateSchema, {
        networkType: NetworkType.BLUETOOTH,
        enabled: request.enabled,
      }),
    });
}
