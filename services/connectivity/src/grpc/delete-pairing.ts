import { create } from '@bufbuild/protobuf';
import type { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import { DeletePairingSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { requireMacAddress } from '../domain/mac-address.ts';
import { type HandlerDependencies, operate } from './operate.ts';

/** Forgets a paired Bluetooth device. */
export function deletePairingHandler(
  deps: HandlerDependencies,
): Handlers<typeof ConnectivityService>['deletePairing'] {
  return async (request) =>
    operate(deps, request, {
      case: 'deletePairing',
      value: create(DeletePairingSchema, { macAddress: requireMacAddress(request.macAddress) }),
    });
}
