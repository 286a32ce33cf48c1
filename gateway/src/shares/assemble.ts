import { randomUUID } from 'node:crypto';
import { GrpcChannel } from '@headset-cloud/rpc/grpc.ts';
import type { RpcSecurity } from '@headset-cloud/rpc/security.ts';
import type { RpcBinding } from '@headset-cloud/rpc/types.ts';
import type { Clock, Time } from '@headset-cloud/runtime/clock.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { createPeers, sharesBinding } from './peers.ts';
import { createShares, type Shares } from './shares.ts';

/**
 * Creates the counts of clients' usage at this gateway. If there may be other gateways, also creates the sender of
 * reports (`components`) and their receiver (`bindings`, for the host's gRPC port).
 */
export function assembleShares(
  { GATEWAY_PEERS: peers }: { readonly GATEWAY_PEERS: string | undefined },
  host: {
    readonly security: RpcSecurity | undefined;
    readonly logger: Logger;
    readonly clock: Clock;
    /** Timers; default: the machine's. */
    readonly time?: Time;
  },
): {
  readonly shares: Shares;
  readonly bindings: readonly RpcBinding[];
  readonly components: readonly Component[];
} {
  const { security, logger, clock, time } = host;
  const shares = createShares({ clock, hasPeers: peers !== undefined });
  if (peers === undefined) return { shares, bindings: [], components: [] };
  const instanceId = `gateway-${randomUUID().slice(0, 8)}`;
  return {
    shares,
    bindings: [sharesBinding(shares, instanceId)],
    components: [
      createPeers({
        ...{ names: peers.split(','), instanceId, shares, logger },
        ...(time && { time }),
        open: (address) => new GrpcChannel(address, {}, security && { security, service: 'gateway' }),
      }),
    ],
  };
}
