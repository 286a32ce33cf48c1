import { create } from '@bufbuild/protobuf';
import type { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import { AddPairingSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requireMacAddress } from '../domain/mac-address.ts';
import { type HandlerDependencies, operate } from './operate.ts';

/** Pairs a Bluetooth device. */
export function addPairingHandler(
  deps: HandlerDependencies,
): Handlers<typeof ConnectivityService>['addPairing'] {
  return async (request) =>
    operate(deps, request, {
      case: 'addPairing',
      value: create(AddPairingSchema, { macAddress: requireMacAddress(request.macAddress) }),
    });
}
