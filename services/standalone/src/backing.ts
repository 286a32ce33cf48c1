import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import type { distributedConfig } from '@headset-cloud/kit/common-config.ts';
import type { ConfigOf } from '@headset-cloud/kit/config.ts';
import { connectKafka } from '@headset-cloud/kit/eventlog/kafka.ts';
import { warnOfOneReplica } from '@headset-cloud/kit/eventlog/kafka-replicas.ts';
import { openKafkaSecurity } from '@headset-cloud/kit/eventlog/kafka-security.ts';
import type { EventLog } from '@headset-cloud/kit/eventlog/types.ts';
import type { Component } from '@headset-cloud/kit/lifecycle.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import { databaseOf, type ServiceName } from '@headset-cloud/kit/service.ts';
import type { StartUp } from '@headset-cloud/kit/start-up.ts';
import { openMongo } from '@headset-cloud/kit/store/mongo.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';

/** The stores and the event log under a process that runs all services. */
export interface Backing {
  readonly log: EventLog;
  storeOf(service: ServiceName): Store;
  /** Another database, for what is kept apart. */
  database(name: string): Store;
  /** In the order of their start; they stop after everything that uses them. */
  readonly components: readonly Component[];
}

/** SQLite in `directory`, which no other process can have open (ADR 0031). */
export function openEmbeddedBacking(directory: string, logger: Logger): Backing {
  const database = openEmbeddedDatabase({ directory });
  const stores = createEmbeddedStore(database);
  const log = createEmbeddedLog(database, logger);
  return {
    log,
    storeOf: (service) => stores.database(service),
    database: (name) => stores.database(name),
    components: [
      {
        ...{ name: 'database', start: async () => {}, stop: () => database.close() },
        notReady: () => database.notReady(),
      },
      { name: 'stores', start: async () => {}, stop: () => stores.close() },
      { name: 'event log', start: async () => {}, stop: () => log.close() },
    ],
  };
}

/** MongoDB and Kafka, as the processes of one service each use them: one client of each for all services. */
export function openSharedBacking(
  config: ConfigOf<typeof distributedConfig>,
  host: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly logger: Logger;
    readonly startUp: StartUp;
    /** The process cannot go on. */
    readonly onFatal: (error: Error) => void;
  },
): Backing {
  const { env, logger, startUp, onFatal } = host;
  const mongo = openMongo({
    uri: config.MONGODB_URI,
    databasePrefix: config.MONGODB_DATABASE_PREFIX,
    appName: 'platform',
    whenReachable: startUp.retry,
  });
  warnOfOneReplica(config, { logger, env });
  const kafka = connectKafka({
    brokers: config.KAFKA_BROKERS.split(','),
    clientId: 'platform',
    prefix: config.KAFKA_PREFIX,
    security: openKafkaSecurity(config, { logger, env }),
    logger,
    partitions: config.KAFKA_PARTITIONS,
    replicationFactor: config.KAFKA_REPLICATION_FACTOR,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    makeTopics: config.SCHEMA === 'run',
    onFatal,
  });
  return {
    log: kafka,
    storeOf: (service) => mongo.database(databaseOf(service)),
    database: (name) => mongo.database(name),
    components: [
      {
        ...{ name: 'MongoDB', start: async () => {}, stop: () => mongo.close() },
        notReady: () => mongo.notReady(),
      },
      {
        ...{ name: 'Kafka', start: async () => {}, stop: () => kafka.close() },
        notReady: () => kafka.notReady(),
      },
    ],
  };
}
