import { create } from '@bufbuild/protobuf';
import type { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import {
  NetworkType,
  ReadConnectivityStateSchema,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { type HandlerDependencies, operate } from './operate.ts';

/** Reads whether Bluetooth is on. */
export function readStateHandler(
  deps: HandlerDependencies,
): Handlers<typeof ConnectivityService>['readState'] {
  return async (request) =>
    operate(deps, request, {
      case: 'readConnectivityState',
      value: create(ReadConnectivityStateSchema, { networkType: NetworkType.BLUETOOTH }),
    });
}
