import type { ListenAddress } from '@headset-cloud/runtime/config.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Registry } from 'prom-client';
import { connectionAge, RpcServer } from './grpc.ts';
import { registerRpcMetrics } from './metrics.ts';
import type { RpcSecurity } from './security.ts';
import type { RpcBinding } from './types.ts';

/** The gRPC port for calls between processes of the same kind: gateways, or processes that run the whole platform. */
export function peersPort(
  bindings: readonly RpcBinding[],
  config: { readonly GRPC_LISTEN: ListenAddress; readonly RPC_CONNECTION_AGE_MS: number },
  host: {
    readonly security: RpcSecurity | undefined;
    readonly logger: Logger;
    readonly metrics: Registry;
  },
): Component {
  const server = new RpcServer(
    bindings,
    host.logger,
    connectionAge(config.RPC_CONNECTION_AGE_MS),
    registerRpcMetrics(host.metrics),
    host.security,
  );
  return {
    name: 'gRPC',
    async start() {
      await server.listen(config.GRPC_LISTEN);
      server.serve();
    },
    beginDrain: () => server.beginDrain(),
    stop: (forMs) => server.stop(forMs),
  };
}
