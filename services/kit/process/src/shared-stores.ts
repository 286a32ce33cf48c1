import { connectKafka } from '@headset-cloud/eventlog/kafka.ts';
import { warnOfOneReplica } from '@headset-cloud/eventlog/kafka-replicas.ts';
import { openKafkaSecurity } from '@headset-cloud/eventlog/kafka-security.ts';
import { readinessByLog } from '@headset-cloud/eventlog/readiness.ts';
import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import type { ConfigOf } from '@headset-cloud/runtime/config.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import { openMongo } from '@headset-cloud/store/mongo.ts';
import type { StoreConnection } from '@headset-cloud/store/types.ts';
import type { distributedConfig } from './common-config.ts';
import type { PlatformProcess } from './process.ts';

/** MongoDB and Kafka of one process. */
export interface SharedStores {
  readonly mongo: StoreConnection;
  readonly log: EventLog;
  /** In the order of their start; they stop after everything that uses them. */
  readonly components: readonly Component[];
}

/**
 * Opens one client of MongoDB and one of Kafka, which use `name` as their client name. Does not wait for the servers. A
 * permanent failure of a client ends the process.
 */
export function openSharedStores(
  name: string,
  config: ConfigOf<typeof distributedConfig>,
  host: Pick<PlatformProcess, 'logger' | 'startUp' | 'fail'> & {
    readonly env: Readonly<Record<string, string | undefined>>;
  },
): SharedStores {
  const { env, logger, startUp } = host;
  const mongo = openMongo({
    uri: config.MONGODB_URI,
    databasePrefix: config.MONGODB_DATABASE_PREFIX,
    appName: name,
    whenReachable: startUp.retry,
  });
  warnOfOneReplica(config, { logger, env });
  const log = connectKafka({
    brokers: config.KAFKA_BROKERS.split(','),
    clientId: name,
    prefix: config.KAFKA_PREFIX,
    security: openKafkaSecurity(config, { logger, env }),
    logger,
    partitions: config.KAFKA_PARTITIONS,
    replicationFactor: config.KAFKA_REPLICATION_FACTOR,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    makeTopics: config.SCHEMA === 'run',
    onFatal: host.fail,
  });
  return {
    mongo,
    log,
    components: [
      {
        ...{ name: 'MongoDB', start: async () => {}, stop: () => mongo.close() },
        notReady: () => mongo.notReady(),
      },
      {
        ...{ name: 'Kafka', start: async () => {}, stop: () => log.close() },
        ...readinessByLog('events', () => log.notReady()),
      },
    ],
  };
}
