import { kafkaSecurityConfig } from '@headset-cloud/eventlog/kafka-security.ts';
import { rpcSecurityConfig } from '@headset-cloud/rpc/security.ts';
import { address, choice, integer, text } from '@headset-cloud/runtime/config.ts';
import { processConfig } from './process-config.ts';

/** Settings of every process that runs a service. */
export const commonConfig = {
  ...processConfig,
  DEAD_LETTERS_KEEP_DAYS: integer({
    doc: 'Retention period of a dead letter while it waits for an operator, and again after its replay or discard; days. An event that waits for an upgrade is not deleted.',
    example: '30',
    default: 30,
    min: 1,
    max: 3650,
  }),
} as const;

/** The services' addresses, mutual authentication of services, and the keepalive that detects an unreachable service. */
export const addressConfig = {
  ...rpcSecurityConfig,
  RPC_KEEPALIVE_MS: integer({
    doc: 'Interval of HTTP/2 keepalive pings to a service while a call to it is open; milliseconds.',
    example: '20000',
    default: 20_000,
    min: 100,
    max: 600_000,
  }),
  RPC_KEEPALIVE_TIMEOUT_MS: integer({
    doc: 'Time without an answer to a keepalive ping after which the connection is closed and reopened; milliseconds.',
    example: '5000',
    default: 5000,
    min: 100,
    max: 600_000,
  }),
  DEVICES_ADDRESS: text({
    doc: 'gRPC address of devices.',
    example: 'dns:///devices:9000',
    default: '127.0.0.1:9001',
  }),
  TRANSACTIONS_ADDRESS: text({
    doc: 'gRPC address of transactions.',
    example: 'dns:///transactions:9000',
    default: '127.0.0.1:9002',
  }),
  DEVICE_LINK_ADDRESS: text({
    doc: 'gRPC address of device-link.',
    example: 'dns:///device-link:9000',
    default: '127.0.0.1:9003',
  }),
  NOTIFIER_ADDRESS: text({
    doc: 'gRPC address of notifier.',
    example: 'dns:///notifier:9000',
    default: '127.0.0.1:9004',
  }),
  UPDATES_ADDRESS: text({
    doc: 'gRPC address of updates.',
    example: 'dns:///updates:9000',
    default: '127.0.0.1:9005',
  }),
  CONNECTIVITY_ADDRESS: text({
    doc: 'gRPC address of connectivity.',
    example: 'dns:///connectivity:9000',
    default: '127.0.0.1:9006',
  }),
  COMMUNICATION_ADDRESS: text({
    doc: 'gRPC address of communication.',
    example: 'dns:///communication:9000',
    default: '127.0.0.1:9007',
  }),
  BILLING_ADDRESS: text({
    doc: 'gRPC address of billing.',
    example: 'dns:///billing:9000',
    default: '127.0.0.1:9008',
  }),
} as const;

/** Settings of a process that runs one service on MongoDB and Kafka. */
export const distributedConfig = {
  RPC_CONNECTION_AGE_MS: integer({
    doc: 'Maximum age of a connection from another service. After it, open calls end and the caller resolves DNS and connects again. So a new pod gets calls after this time plus the TTL of the DNS answer; milliseconds.',
    example: '60000',
    default: 60_000,
    min: 100,
    max: 86_400_000,
  }),
  GRPC_LISTEN: address({
    doc: 'Address on which this service listens for the other services (gRPC).',
    example: '0.0.0.0:9000',
    default: { host: '127.0.0.1', port: 9000 },
  }),
  MONGODB_URI: text({
    doc: 'The MongoDB replica set.',
    example: 'mongodb://mongo-0.mongo:27017/?replicaSet=rs0',
    required: true,
    secret: true,
    pattern: /^mongodb(\+srv)?:\/\//,
    form: 'a mongodb:// address',
  }),
  SCHEMA: choice({
    doc: 'Who creates indexes and topics. `run`: each service creates its own at start; `wait`: services/prepare creates all, and services wait for it, not ready.',
    example: 'wait',
    default: 'run',
    words: ['run', 'wait'],
  }),
  MONGODB_DATABASE_PREFIX: text({
    doc: 'Prefix of the names of the services’ databases.',
    example: 'headset_',
    default: 'headset_',
    pattern: /^[a-z0-9_-]{1,30}$/,
    form: '1 to 30 of a-z, 0-9, _ and -',
  }),
  KAFKA_BROKERS: text({
    doc: 'Kafka bootstrap brokers, host:port, separated by commas.',
    example: 'kafka-0.kafka:9092,kafka-1.kafka:9092',
    required: true,
    pattern: /^[^,:\s]+:\d+(,[^,:\s]+:\d+)*$/,
    form: 'a list of host:port',
  }),
  KAFKA_PREFIX: text({
    doc: 'Prefix of all topics and consumer groups, so that several platforms can share a broker; the same for all processes of a platform, empty by default. Changing the prefix of a running platform creates new, empty topics.',
    example: 'staging.',
    pattern: /^[A-Za-z0-9._-]{1,64}$/,
    form: '1 to 64 of A-Z, a-z, 0-9, ., _ and -',
  }),
  ...kafkaSecurityConfig,
  KAFKA_PARTITIONS: integer({
    doc: 'Partitions of a topic when it is created.',
    example: '8',
    default: 8,
    min: 1,
    max: 1000,
  }),
  KAFKA_REPLICATION_FACTOR: integer({
    doc: 'Replicas of a topic when it is created: 3 in production, 1 on a single broker. In production, a process logs a warning if the value is 1.',
    example: '3',
    default: 3,
    min: 1,
    max: 9,
  }),
  KAFKA_SESSION_TIMEOUT_MS: integer({
    doc: 'A consumer that sends no heartbeat for this long loses its partitions to others; milliseconds. Brokers reject a value below their group.min.session.timeout.ms (6000 by default).',
    example: '6000',
    default: 6000,
    min: 1000,
    max: 7500,
    productionMin: 6000,
  }),
  ...addressConfig,
} as const;
