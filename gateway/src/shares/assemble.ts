import { randomUUID } from 'node:crypto';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { ListenAddress } from '@headset-cloud/kit/config.ts';
import type { Component } from '@headset-cloud/kit/lifecycle.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { connectionAge, GrpcChannel, RpcServer } from '@headset-cloud/kit/rpc/grpc.ts';
import { registerRpcMetrics } from '@headset-cloud/kit/rpc/metrics.ts';
import type { RpcSecurity } from '@headset-cloud/kit/rpc/security.ts';
import type { Registry } from 'prom-client';
import { createPeers, sharesBinding } from './peers.ts';
import { createShares, type Shares } from './shares.ts';

/** The counts of this gateway and, where there may be others, what tells them and listens to them. */
export function assembleShares(
  listen: { readonly GRPC_LISTEN: ListenAddress; readonly RPC_CONNECTION_AGE_MS: number },
  { GATEWAY_PEERS: peers }: { readonly GATEWAY_PEERS: string | undefined },
  host: {
    readonly security: RpcSecurity | undefined;
    readonly logger: Logger;
    readonly clock: Clock;
    readonly metrics: Registry;
  },
): { readonly shares: Shares; readonly components: readonly Component[] } {
  const { security, logger, clock, metrics } = host;
  const shares = createShares({ clock, metrics, together: peers !== undefined });
  if (peers === undefined) return { shares, components: [] };
  const instanceId = `gateway-${randomUUID().slice(0, 8)}`;
  const server = new RpcServer(
    [sharesBinding(shares, instanceId)],
    logger,
    connectionAge(listen.RPC_CONNECTION_AGE_MS),
    registerRpcMetrics(metrics),
    security,
  );
  return {
    shares,
    components: [
      {
        name: 'gRPC',
        async start() {
          await server.listen(listen.GRPC_LISTEN);
          server.serve();
        },
        stop: (forMs) => server.stop(forMs),
      },
      createPeers({
        ...{ names: peers.split(','), instanceId, shares, logger },
        open: (address) => new GrpcChannel(address, {}, security && { security, service: 'gateway' }),
      }),
    ],
  };
}
