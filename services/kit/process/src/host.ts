import { randomUUID } from 'node:crypto';
import type { ChannelOptions } from '@grpc/grpc-js';
import { withMetrics } from '@headset-cloud/eventlog/metrics.ts';
import { connectionAge, GrpcChannel, RpcServer } from '@headset-cloud/rpc/grpc.ts';
import { registerRpcMetrics } from '@headset-cloud/rpc/metrics.ts';
import { openRpcSecurity, type RpcSecurity } from '@headset-cloud/rpc/security.ts';
import type { Channel } from '@headset-cloud/rpc/types.ts';
import { createOperatorsOutbox, outboxComponent } from '@headset-cloud/rules/audit/operators-outbox.ts';
import { deadLettersAdmin } from '@headset-cloud/rules/dead-letters/admin.ts';
import { registerDeadLetters, withDeadLetters } from '@headset-cloud/rules/dead-letters/log.ts';
import { dayMs } from '@headset-cloud/rules/retention/config.ts';
import { secretsAdmin } from '@headset-cloud/rules/sealed/admin.ts';
import { createNotedKeys } from '@headset-cloud/rules/sealed/noted-keys.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { type ConfigOf, readConfig } from '@headset-cloud/runtime/config.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { sealingConfig } from '@headset-cloud/runtime/sealing-config.ts';
import { secretKeysOf } from '@headset-cloud/runtime/secrets.ts';
import { databaseOf, type ServiceName } from '@headset-cloud/runtime/service-names.ts';
import { createTracing } from '@headset-cloud/runtime/tracing.ts';
import { type addressConfig, commonConfig, distributedConfig } from './common-config.ts';
import { createProcess } from './process.ts';
import type { ServiceDefinition } from './service.ts';
import { openSharedStores } from './shared-stores.ts';

const hostConfig = { ...commonConfig, ...distributedConfig } as const;
const sealingHostConfig = { ...hostConfig, ...sealingConfig } as const;

/** The gRPC address of each service, from the configuration. */
export function addressesOf(config: ConfigOf<typeof addressConfig>): Record<ServiceName, string> {
  return {
    devices: config.DEVICES_ADDRESS,
    transactions: config.TRANSACTIONS_ADDRESS,
    'device-link': config.DEVICE_LINK_ADDRESS,
    notifier: config.NOTIFIER_ADDRESS,
    updates: config.UPDATES_ADDRESS,
    connectivity: config.CONNECTIVITY_ADDRESS,
    communication: config.COMMUNICATION_ADDRESS,
    billing: config.BILLING_ADDRESS,
  };
}

/** The keepalive options of channels, from the configuration. */
export function keepaliveOf(config: ConfigOf<typeof addressConfig>): ChannelOptions {
  return {
    'grpc.keepalive_time_ms': config.RPC_KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': config.RPC_KEEPALIVE_TIMEOUT_MS,
  };
}

/** Creates channels to the services, which open on first use. With `security`, each server must prove its identity. */
export function createChannels(
  addresses: Record<ServiceName, string>,
  options: ChannelOptions = {},
  security?: RpcSecurity,
): {
  channel: (to: ServiceName) => Channel;
  close: () => Promise<void>;
} {
  const open = new Map<ServiceName, GrpcChannel>();
  return {
    channel(to) {
      let channel = open.get(to);
      if (!channel) {
        channel = new GrpcChannel(addresses[to], options, security && { security, service: to });
        open.set(to, channel);
      }
      return channel;
    },
    async close() {
      await Promise.all([...open.values()].map((c) => c.close()));
    },
  };
}

/** Runs one service as a separate process on MongoDB and Kafka, until SIGINT or SIGTERM. */
export async function hostService(
  definition: ServiceDefinition,
  env: Record<string, string | undefined> = process.env,
): Promise<void> {
  const { name } = definition;
  const sealing = definition.seals ? readConfig(sealingHostConfig, env) : undefined;
  const common = sealing ?? readConfig(hostConfig, env);
  const build = definition.configure(env);
  const own = createProcess(name, common);
  const { metrics, logger, listeners, startUp, lifecycle } = own;
  const security = openRpcSecurity(common, { logger, metrics, env }, name);

  await lifecycle.start(createTracing(name, env, metrics));
  const { mongo, log: kafka, components } = openSharedStores(name, common, { ...own, env });
  for (const component of components) await lifecycle.start(component);
  const channels = createChannels(addressesOf(common), keepaliveOf(common), security);
  await lifecycle.start({ name: 'channels', start: async () => {}, stop: () => channels.close() });
  const store = mongo.database(databaseOf(name));
  const log = withMetrics(kafka, metrics);
  const audit = createOperatorsOutbox({ ...{ store, log, logger, metrics }, clock: systemClock });
  const keeping = withDeadLetters(log, {
    ...{ store, logger },
    keepMs: common.DEAD_LETTERS_KEEP_DAYS * dayMs,
  });
  registerDeadLetters(metrics, [keeping.deadLetters]);
  const secrets = sealing && secretKeysOf(sealing);
  const service = build({
    logger,
    clock: systemClock,
    store,
    database: (other) => mongo.database(other),
    log: {
      ...keeping.log,
      ensureTopics: (names) => startUp.retry('the topics', () => keeping.log.ensureTopics(names)),
    },
    channel: channels.channel,
    channelToPeer: (address) => new GrpcChannel(address, {}, security && { security, service: name }),
    secrets,
    metrics,
    instanceId: `${name}-${randomUUID().slice(0, 8)}`,
    schema: common.SCHEMA,
    listeners,
    starting: startUp,
  });
  const sealed = service.sealed &&
    secrets && {
      ...{ service: name, locations: service.sealed, audit, secrets },
      noted: createNotedKeys({ store, secrets, logger }),
    };
  await own.serveAdmin([
    ...service.admin,
    deadLettersAdmin([{ ...keeping.deadLetters, audit }]),
    ...(sealed ? [secretsAdmin(sealed.secrets, [sealed])] : []),
  ]);
  const server = new RpcServer(
    service.rpc,
    logger,
    connectionAge(common.RPC_CONNECTION_AGE_MS),
    registerRpcMetrics(metrics),
    security,
  );
  // The port opens before the service starts, so that calls wait there while the service waits for its stores.
  await lifecycle.start({
    name: 'gRPC port',
    start: async () => {
      await server.listen(common.GRPC_LISTEN);
    },
    stop: () => server.stop(0),
  });
  await own.run(async () => {
    // Some services do not wait for the database themselves, because they store only dead letters in it.
    await store.whenReachable?.('the database', async () => {});
    // Runs before the service starts: a service without a key cannot answer, so its callers must use other instances.
    if (sealed) await startUp.retry('the secret keys', () => sealed.noted.check());
    await lifecycle.start(service);
    await lifecycle.start(outboxComponent(audit));
    // Starts after the service and therefore stops before it: open calls finish while the service runs.
    await lifecycle.start({
      name: 'gRPC',
      start: async () => server.serve(),
      beginDrain: () => server.beginDrain(),
      stop: (forMs) => server.stop(forMs),
    });
  });
}

export type { Logger };
