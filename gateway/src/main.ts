import { adminTokensOf, createAdminServer } from '@headset-cloud/kit/admin-server.ts';
import { systemClock } from '@headset-cloud/kit/clock.ts';
import { addressConfig, commonConfig, distributedConfig } from '@headset-cloud/kit/common-config.ts';
import { readConfig } from '@headset-cloud/kit/config.ts';
import { doorConfig, doorLimits } from '@headset-cloud/kit/doors/config.ts';
import { openDoors } from '@headset-cloud/kit/doors/http-door.ts';
import { addressesOf, createChannels, createMetrics, keepaliveOf, main } from '@headset-cloud/kit/host.ts';
import { Lifecycle, untilSignal } from '@headset-cloud/kit/lifecycle.ts';
import { createLogger } from '@headset-cloud/kit/logger.ts';
import { peersPort } from '@headset-cloud/kit/rpc/peers-port.ts';
import { openRpcSecurity } from '@headset-cloud/kit/rpc/security.ts';
import { createTracing } from '@headset-cloud/kit/tracing.ts';
import { assembleGateway } from './assemble.ts';
import { gatewayConfig } from './config.ts';
import { assembleShares } from './shares/assemble.ts';

const {
  LOG_LEVEL,
  ADMIN_LISTEN,
  ADMIN_TOKEN,
  ADMIN_TOKEN_BEFORE,
  METRICS_TOKEN,
  TURN_AWAY_MS,
  STOP_GRACE_MS,
} = commonConfig;
const ownConfig = {
  LOG_LEVEL,
  ADMIN_LISTEN,
  ADMIN_TOKEN,
  ADMIN_TOKEN_BEFORE,
  METRICS_TOKEN,
  TURN_AWAY_MS,
  STOP_GRACE_MS,
  ...doorConfig,
} as const;
const { GRPC_LISTEN, RPC_CONNECTION_AGE_MS } = distributedConfig;
const hostConfig = { ...ownConfig, GRPC_LISTEN, RPC_CONNECTION_AGE_MS, ...addressConfig } as const;

await main('gateway', async () => {
  const common = readConfig(hostConfig, process.env);
  const config = readConfig(gatewayConfig, process.env);
  const metrics = createMetrics('gateway');
  const logger = createLogger({ service: 'gateway', level: common.LOG_LEVEL, metrics });
  const doors = openDoors(doorLimits(common), metrics);
  const security = openRpcSecurity(common, { logger, metrics, env: process.env }, 'gateway');
  const lifecycle = new Lifecycle(logger, {
    turnAwayMs: common.TURN_AWAY_MS,
    stopGraceMs: common.STOP_GRACE_MS,
  });
  const signal = untilSignal();

  await lifecycle.start(createTracing('gateway', process.env, metrics));
  const channels = createChannels(addressesOf(common), keepaliveOf(common), security);
  await lifecycle.start({ name: 'channels', start: async () => {}, stop: () => channels.close() });
  await lifecycle.start(
    createAdminServer({
      service: 'gateway',
      listen: common.ADMIN_LISTEN,
      ...adminTokensOf(common),
      bindings: [],
      metrics,
      notReady: () => lifecycle.notReady(),
      warnings: () => lifecycle.warnings(),
      logger,
      doors,
    }),
  );
  const { shares, bindings, components } = assembleShares(config, {
    security,
    logger,
    clock: systemClock,
  });
  if (bindings.length > 0) await lifecycle.start(peersPort(bindings, common, { security, logger, metrics }));
  for (const component of components) await lifecycle.start(component);
  await lifecycle.start(
    assembleGateway(config, {
      channel: channels.channel,
      logger,
      clock: systemClock,
      metrics,
      shares,
      doors,
    }),
  );
  lifecycle.complete();
  logger.info('ready');
  logger.info({ signal: await signal }, 'stopping');
  await lifecycle.stop();
});
