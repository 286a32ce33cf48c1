import { bind, type RpcBinding } from '@headset-cloud/kit/rpc/types.ts';
import { ConnectivityService } from '@headset-cloud/proto/headset/connectivity/v1/service_pb.ts';
import { addPairingHandler } from './add-pairing.ts';
import { changePairingHandler } from './change-pairing.ts';
import { changeStateHandler } from './change-state.ts';
import { deletePairingHandler } from './delete-pairing.ts';
import { listConnectivityHandler } from './list-connectivity.ts';
import type { HandlerDependencies } from './operate.ts';
import { readStateHandler } from './read-state.ts';
import { resetConnectivityHandler } from './reset-connectivity.ts';

/** What this service serves to the gateway. */
export function rpcBindings(deps: HandlerDependencies): RpcBinding[] {
  return [
    bind(ConnectivityService, {
      listConnectivity: listConnectivityHandler(deps),
      readState: readStateHandler(deps),
      changeState: changeStateHandler(deps),
      resetConnectivity: resetConnectivityHandler(deps),
      addPairing: addPairingHandler(deps),
      changePairing: changePairingHandler(deps),
      deletePairing: deletePairingHandler(deps),
    }),
  ];
}
