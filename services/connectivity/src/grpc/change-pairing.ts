import { create } from '@bufbuild/protobuf';
import type { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import { ChangePairingSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requireMacAddress } from '../domain/mac-address.ts';
import { type HandlerDependencies, operate } from './operate.ts';

/** Connects or disconnects a paired Bluetooth device. */
export function changePairingHandler(
  deps: HandlerDependencies,
): Handlers<typeof ConnectivityService>['changePairing'] {
  return async (request) =>
    operate(deps, request, {
      case: 'changePairing',
      value: create(ChangePairingSchema, {
        macAddress: requireMacAddress(request.macAddress),
        connect: request.connect,
      }),
    });
}
