import { ConnectivityService } from '@headset-cloud/proto/connectivity/v1/service_pb.ts';
import { bind, type RpcBinding } from '@headset-cloud/rpc/types.ts';
import type { ConnectivityMetrics } from '../metrics.ts';
import { addPairingHandler } from './add-pairing.ts';
import { changePairingHandler } from './change-pairing.ts';
import { changeStateHandler } from './change-state.ts';
import { deletePairingHandler } from './delete-pairing.ts';
import { listConnectivityHandler } from './list-connectivity.ts';
import type { HandlerDependencies } from './operate.ts';
import { readStateHandler } from './read-state.ts';
import { resetConnectivityHandler } from './reset-connectivity.ts';

/** The gRPC services that the gateway calls. */
export function rpcBindings(
  deps: HandlerDependencies,
  { counted }: Pick<ConnectivityMetrics, 'counted'>,
): RpcBinding[] {
  return [
    bind(ConnectivityService, {
      listConnectivity: counted('listConnectivity', listConnectivityHandler(deps)),
      readState: counted('readState', readStateHandler(deps)),
      changeState: counted('changeState', changeStateHandler(deps)),
      resetConnectivity: counted('resetConnectivity', resetConnectivityHandler(deps)),
      addPairing: counted('addPairing', addPairingHandler(deps)),
      changePairing: counted('changePairing', changePairingHandler(deps)),
      deletePairing: counted('deletePairing', deletePairingHandler(deps)),
    }),
  ];
}
