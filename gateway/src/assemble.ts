import { egressProxyOf } from '@headset-cloud/outbound/egress-config.ts';
import { createFetch } from '@headset-cloud/outbound/fetch.ts';
import type { Channel } from '@headset-cloud/rpc/types.ts';
import type { Clock, Time } from '@headset-cloud/runtime/clock.ts';
import type { Listeners } from '@headset-cloud/runtime/listeners/http-listener.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { repeat } from '@headset-cloud/runtime/repeat.ts';
import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';
import { Gauge, type Registry } from 'prom-client';
import { buildGateway } from './app.ts';
import { createGatewayClients } from './clients.ts';
import type { GatewayConfig } from './config.ts';
import { createGatewayServer, type GatewayServer } from './server.ts';
import { createShares, type Shares } from './shares/shares.ts';
import { claimRulesOf } from './tokens/claims.ts';
import { KeySet } from './tokens/key-set.ts';
import { createTokenVerifier } from './tokens/verifier.ts';

/** Shorter than the time-out of a fetch of the keys, so that the reason of a failed connection is reported first. */
const issuerConnectTimeoutMs = 2500;
/** Interval of the check whether the issuer's keys must be fetched, also without calls; milliseconds. */
const issuerWatchMs = 1000;

/** Assembles the gateway with its clients, token keys and server, before it listens. The same for both stacks. */
export function assembleGateway(
  config: GatewayConfig,
  host: {
    readonly channel: (to: ServiceName) => Channel;
    readonly logger: Logger;
    readonly clock: Clock;
    /** Timers; default: the machine's. */
    readonly time?: Time;
    readonly metrics: Registry;
    readonly listeners?: Listeners;
    /** Counts of clients' usage; absent if this is the only gateway. */
    readonly shares?: Shares;
  },
): GatewayServer {
  const { logger, clock, metrics } = host;
  const keys = new KeySet({
    ...{ issuer: config.OIDC_ISSUER, jwksUri: config.OIDC_JWKS_URI, logger, clock },
    fetch: createFetch({ connectTimeoutMs: issuerConnectTimeoutMs, proxy: egressProxyOf(config) }),
  });
  new Gauge({
    name: 'headset_gateway_issuer_keys_age_seconds',
    help: "Time since this instance last fetched the issuer's keys, which it does each 10 minutes; absent before the first time.",
    registers: [metrics],
    collect() {
      const age = keys.ageSeconds;
      // `reset` would set 0, as if the keys had just been fetched.
      if (age === undefined) this.remove();
      else this.set(age);
    },
  });
  const gateway = buildGateway({
    clients: createGatewayClients(host.channel, config.UPSTREAM_DEADLINE_MS),
    tokens: createTokenVerifier({
      issuer: config.OIDC_ISSUER,
      audience: config.OIDC_AUDIENCE,
      claims: claimRulesOf(config),
      keys,
      clock,
    }),
    config,
    logger,
    clock,
    metrics,
    ...(host.listeners && { proxies: host.listeners.proxies }),
    shares: host.shares ?? createShares({ clock, hasPeers: false }),
  });
  const server = createGatewayServer(gateway, config, logger, host.listeners, host.time);
  const watch = repeat("the refresh of the issuer's keys", issuerWatchMs, logger, async () => {
    await keys.refresh();
    return 0;
  });
  return {
    name: server.name,
    get port() {
      return server.port;
    },
    notReady: () => server.notReady?.(),
    beginDrain: () => server.beginDrain(),
    // An unavailable issuer is only a warning. The cached keys stay in use, and readiness would fail on all instances
    // at the same time.
    warnings: () => keys.warnings,
    async start() {
      await server.start();
      watch.start();
      watch.wake();
    },
    async stop(forMs) {
      await Promise.all([watch.stop(), server.stop(forMs)]);
    },
  };
}
