import { kafkaSecurityConfig } from '@headset-cloud/eventlog/kafka-security.ts';
import { commonConfig, distributedConfig } from '@headset-cloud/process/common-config.ts';
import type { ConfigOf } from '@headset-cloud/runtime/config.ts';

/** The services' settings for the connections to the stores and for the creation of topics. */
export const prepareConfig = {
  LOG_LEVEL: commonConfig.LOG_LEVEL,
  MONGODB_URI: distributedConfig.MONGODB_URI,
  MONGODB_DATABASE_PREFIX: distributedConfig.MONGODB_DATABASE_PREFIX,
  KAFKA_BROKERS: distributedConfig.KAFKA_BROKERS,
  ...kafkaSecurityConfig,
  KAFKA_PREFIX: distributedConfig.KAFKA_PREFIX,
  KAFKA_PARTITIONS: distributedConfig.KAFKA_PARTITIONS,
  KAFKA_REPLICATION_FACTOR: distributedConfig.KAFKA_REPLICATION_FACTOR,
} as const;

export type PrepareConfig = ConfigOf<typeof prepareConfig>;
