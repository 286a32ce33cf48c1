import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import type { ChannelOptions } from '@grpc/grpc-js';
import { stdSerializers } from 'pino';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { adminTokensOf, createAdminServer } from './admin-server.ts';
import { createOperatorsOutbox, outboxComponent } from './audit/operators-outbox.ts';
import { auditFailpoints } from './audit/outbox.ts';
import { platformVersion } from './build-info.ts';
import { systemClock } from './clock.ts';
import { type addressConfig, commonConfig, distributedConfig, sealingConfig } from './common-config.ts';
import { ConfigError, type ConfigOf, readConfig } from './config.ts';
import { deadLettersAdmin } from './dead-letters/admin.ts';
import { deadLetterFailpoints, registerDeadLetters, withDeadLetters } from './dead-letters/log.ts';
import { doorLimits } from './doors/config.ts';
import { openDoors } from './doors/http-door.ts';
import { connectKafka } from './eventlog/kafka.ts';
import { warnOfOneReplica } from './eventlog/kafka-replicas.ts';
import { openKafkaSecurity } from './eventlog/kafka-security.ts';
import { withMetrics } from './eventlog/metrics.ts';
import { createFailpoints } from './failpoints.ts';
import { Lifecycle, untilSignal } from './lifecycle.ts';
import { createLogger, flushLogs, type Logger } from './logger.ts';
import { withoutPassword } from './redact.ts';
import { dayMs } from './retention/config.ts';
import { connectionAge, GrpcChannel, RpcServer } from './rpc/grpc.ts';
import { registerRpcMetrics } from './rpc/metrics.ts';
import { openRpcSecurity, type RpcSecurity } from './rpc/security.ts';
import type { Channel } from './rpc/types.ts';
import { secretsAdmin } from './sealed/admin.ts';
import { createNotedKeys } from './sealed/noted-keys.ts';
import { secretKeysOf } from './secrets.ts';
import { databaseOf, type ServiceDefinition, type ServiceName } from './service.ts';
import { createStartUp, StartStoppedError } from './start-up.ts';
import { openMongo } from './store/mongo.ts';
import { createTracing } from './tracing.ts';

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

/** A channel's keepalive options, from the configuration. */
export function keepaliveOf(config: ConfigOf<typeof addressConfig>): ChannelOptions {
  return {
    'grpc.keepalive_time_ms': config.RPC_KEEPALIVE_MS,
    'grpc.keepalive_timeout_ms': config.RPC_KEEPALIVE_TIMEOUT_MS,
  };
}

/** Channels to the services, opened on first use; with `security`, each proves to be the service that is meant. */
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

/**
 * Runs a process of the platform and ends it. What `run` throws is one more line of the process's log, so that
 * whoever collects the logs has it: a wrong configuration ends with status 2, anything else with 1.
 */
export async function main(service: string, run: () => Promise<void>): Promise<void> {
  const fail = async (error: unknown): Promise<never> => {
    // The level may be what is wrong, and no level hides a fatal line.
    const logger = createLogger({ service, level: 'fatal' }).child({}, { serializers: { err: toldOf } });
    if (error instanceof ConfigError) {
      logger.fatal({ problems: error.problems }, 'wrong configuration');
      return end(2);
    }
    logger.fatal({ err: error }, 'the process ends because of an unexpected error');
    return end(1);
  };
  let failed = false;
  process.on('uncaughtException', (error) => {
    // Node.js would print a second one as it is.
    if (failed) return;
    failed = true;
    fail(error).catch(() => process.exit(1));
  });
  try {
    await run();
  } catch (error) {
    return fail(error);
  }
  return end(0);
}

async function end(status: number): Promise<never> {
  try {
    await flushLogs();
  } finally {
    process.exit(status);
  }
}

/** What a log may hold of an error: drivers name whole connection strings in theirs. */
function toldOf(error: unknown): { type: string; message: string; stack: string } {
  const { type, message, stack } = stdSerializers.err(
    error instanceof Error ? error : new Error(inspect(error)),
  );
  return { type, message: withoutPassword(message), stack: withoutPassword(stack) };
}

/** Runs one service as a process of its own on MongoDB and Kafka, until SIGINT or SIGTERM. */
export async function hostService(
  definition: ServiceDefinition,
  env: Record<string, string | undefined> = process.env,
): Promise<void> {
  const { name } = definition;
  const sealing = definition.seals ? readConfig(sealingHostConfig, env) : undefined;
  const common = sealing ?? readConfig(hostConfig, env);
  const build = definition.configure(env);
  const metrics = createMetrics(name);
  const logger = createLogger({ service: name, level: common.LOG_LEVEL, metrics });
  const doors = openDoors(doorLimits(common), metrics);
  const security = openRpcSecurity(common, { logger, metrics, env }, name);
  const startUp = createStartUp(logger);
  const lifecycle = new Lifecycle(logger, {
    turnAwayMs: common.TURN_AWAY_MS,
    stopGraceMs: common.STOP_GRACE_MS,
    waitsFor: () => startUp.waitsFor(),
  });
  const signal = untilSignal();
  const fatal = Promise.withResolvers<never>();
  // Resolves when the process is told to stop, or fails for good, while the start still waits for a store.
  const ended = Promise.race([signal, fatal.promise]);
  ended.catch(() => {}).finally(() => startUp.stop());

  await lifecycle.start(createTracing(name, env, metrics));
  const mongo = openMongo({
    uri: common.MONGODB_URI,
    databasePrefix: common.MONGODB_DATABASE_PREFIX,
    appName: name,
    whenReachable: startUp.retry,
  });
  await lifecycle.start({
    name: 'MongoDB',
    start: async () => {},
    stop: () => mongo.close(),
    notReady: () => mongo.notReady(),
  });
  warnOfOneReplica(common, { logger, env });
  const kafka = await connectKafka({
    brokers: common.KAFKA_BROKERS.split(','),
    clientId: name,
    prefix: common.KAFKA_PREFIX,
    security: openKafkaSecurity(common, { logger, env }),
    logger,
    partitions: common.KAFKA_PARTITIONS,
    replicationFactor: common.KAFKA_REPLICATION_FACTOR,
    sessionTimeoutMs: common.KAFKA_SESSION_TIMEOUT_MS,
    makeTopics: common.SCHEMA === 'run',
    onFatal: (error) => fatal.reject(error),
  });
  await lifecycle.start({
    name: 'Kafka',
    start: async () => {},
    stop: () => kafka.close(),
    notReady: () => kafka.notReady(),
  });
  const channels = createChannels(addressesOf(common), keepaliveOf(common), security);
  await lifecycle.start({ name: 'channels', start: async () => {}, stop: () => channels.close() });
  const store = mongo.database(databaseOf(name));
  const failpoints = createFailpoints(
    common.FAILPOINTS,
    [...definition.failpoints, ...deadLetterFailpoints, ...auditFailpoints],
    env,
  );
  const log = withMetrics(kafka, metrics);
  const audit = createOperatorsOutbox({ ...{ store, log, logger, failpoints, metrics }, clock: systemClock });
  const keeping = withDeadLetters(log, {
    ...{ store, logger, failpoints },
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
    failpoints,
    instanceId: `${name}-${randomUUID().slice(0, 8)}`,
    schema: common.SCHEMA,
    doors,
    starting: startUp,
  });
  const sealed = service.sealed &&
    secrets && {
      ...{ service: name, places: service.sealed, audit, secrets },
      noted: createNotedKeys({ store, secrets, logger }),
    };
  await lifecycle.start(
    createAdminServer({
      service: name,
      listen: common.ADMIN_LISTEN,
      ...adminTokensOf(common),
      bindings: [
        ...service.admin,
        deadLettersAdmin([{ ...keeping.deadLetters, audit }]),
        ...(sealed ? [secretsAdmin(sealed.secrets, [sealed])] : []),
      ],
      metrics,
      notReady: () => lifecycle.notReady(),
      warnings: () => lifecycle.warnings(),
      logger,
      doors,
    }),
  );
  const server = new RpcServer(
    service.rpc,
    logger,
    connectionAge(common.RPC_CONNECTION_AGE_MS),
    registerRpcMetrics(metrics),
    security,
  );
  // Starts before the service: calls are answered 'unavailable' while the service waits for its stores.
  await lifecycle.start({
    name: 'gRPC port',
    start: async () => {
      await server.listen(common.GRPC_LISTEN);
    },
    stop: () => server.stop(0),
  });
  try {
    // Needed even by a service that stores nothing but dead letters.
    await store.whenReachable?.('the database', async () => {});
    // Before the service: without a key it could not answer, and its callers use other instances.
    if (sealed) await startUp.retry('the secret keys', () => sealed.noted.check());
    await lifecycle.start(service);
    await lifecycle.start(outboxComponent(audit));
    // Starts after the service and so stops before it: open calls finish while the service still runs.
    await lifecycle.start({
      name: 'gRPC',
      start: async () => server.serve(),
      turnAway: () => server.turnAway(),
      stop: (forMs) => server.stop(forMs),
    });
    lifecycle.complete();
    logger.info('ready');
  } catch (error) {
    if (!(error instanceof StartStoppedError)) throw error;
    logger.info('told to stop before the start was complete');
  }
  try {
    logger.info({ signal: await ended }, 'stopping');
  } finally {
    await lifecycle.stop();
  }
}

/** A registry with the process's own metrics and its version, labelled with the service. */
export function createMetrics(service: string): Registry {
  const metrics = new Registry();
  metrics.setDefaultLabels({ service });
  collectDefaultMetrics({ register: metrics });
  new Gauge({
    name: 'headset_build_info',
    help: 'Always 1; the version of the platform and of Node.js that this process runs.',
    labelNames: ['version', 'node'],
    registers: [metrics],
  }).set({ version: platformVersion(), node: process.versions.node }, 1);
  return metrics;
}

export type { Logger };
