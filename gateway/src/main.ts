import { addressConfig, distributedConfig } from '@headset-cloud/process/common-config.ts';
import { addressesOf, createChannels, keepaliveOf } from '@headset-cloud/process/host.ts';
import { createProcess, main } from '@headset-cloud/process/process.ts';
import { processConfig } from '@headset-cloud/process/process-config.ts';
import { peersPort } from '@headset-cloud/rpc/peers-port.ts';
import { openRpcSecurity } from '@headset-cloud/rpc/security.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { createTracing } from '@headset-cloud/runtime/tracing.ts';
import { assembleGateway } from './assemble.ts';
import { gatewayConfig } from './config.ts';
import { assembleShares } from './shares/assemble.ts';

const { GRPC_LISTEN, RPC_CONNECTION_AGE_MS } = distributedConfig;
const hostConfig = { ...processConfig, GRPC_LISTEN, RPC_CONNECTION_AGE_MS, ...addressConfig } as const;

await main('gateway', async () => {
  const common = readConfig(hostConfig, process.env);
  const config = readConfig(gatewayConfig, process.env);
  const own = createProcess('gateway', common);
  const { metrics, logger, listeners, lifecycle } = own;
  const security = openRpcSecurity(common, { logger, metrics, env: process.env }, 'gateway');

  await lifecycle.start(createTracing('gateway', process.env, metrics));
  const channels = createChannels(addressesOf(common), keepaliveOf(common), security);
  await lifecycle.start({ name: 'channels', start: async () => {}, stop: () => channels.close() });
  await own.serveAdmin([]);
  await own.run(async () => {
    const { shares, bindings, components } = assembleShares(config, {
      security,
      logger,
      clock: systemClock,
    });
    if (bindings.length > 0)
      await lifecycle.start(peersPort(bindings, common, { security, logger, metrics }));
    for (const component of components) await lifecycle.start(component);
    await lifecycle.start(
      assembleGateway(config, {
        channel: channels.channel,
        logger,
        clock: systemClock,
        metrics,
        shares,
        listeners,
      }),
    );
  });
});
