import { address, choice, integer, text } from './config.ts';
import { kafkaSecurityConfig } from './eventlog/kafka-security.ts';
import { processConfig } from './process-config.ts';
import { rpcSecurityConfig } from './rpc/security.ts';

/** Keys that every process of the platform knows. */
export const commonConfig = {
  ...processConfig,
  DEAD_LETTERS_KEEP_DAYS: integer({
    doc: 'For how long an event that could not be handled is kept for an operator, and after its replay or discard, in days; one that waits for an upgrade stays.',
    example: '30',
    default: 30,
    min: 1,
    max: 3650,
  }),
} as const;

/** Keys of the services that seal what they store (`defineSealingService`). */
export const sealingConfig = {
  SECRET_KEY: text({
    doc: 'Encrypts authentication keys and client secrets at rest; losing it loses them.',
    example: '64 random hexadecimal digits (openssl rand -hex 32)',
    required: true,
    secret: true,
    random: true,
    pattern: /^.{32,}$/,
    form: 'at least 32 characters',
  }),
  SECRET_KEY_OTHERS: text({
    doc: 'Keys that open what they sealed, but seal nothing, one a line: the next SECRET_KEY while processes change over, and the former one until `ctl secrets reseal` has moved everything.',
    example: 'the-next-or-the-former-SECRET_KEY',
    secret: true,
    random: true,
    pattern: /^[^\n]{32,}(\n[^\n]{32,})*$/,
    form: 'at least 32 characters a line',
  }),
} as const;

/** The services' addresses, how services know each other, and the keepalive after which one counts as unreachable. */
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
    doc: 'A connection whose keepalive ping is unanswered for this long is closed and opened again; milliseconds.',
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

/** Keys of a process that runs one service on MongoDB and Kafka. */
export const distributedConfig = {
  RPC_CONNECTION_AGE_MS: integer({
    doc: 'How old a connection of another service may become; then its calls end, and it is opened again by DNS. So an added pod gets calls after this and the lifetime of the DNS answer; milliseconds.',
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
    doc: 'How indexes and topics are made. `run`: each service makes its own when it starts; `wait`: services/prepare makes all, and services wait for it, not ready.',
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
    doc: 'Begins the names of all topics and consumer groups, so that several platforms may share a broker; the same for all processes of a platform, none by default. Another prefix on a platform that runs makes new, empty topics.',
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
    doc: 'Replicas of a topic when it is created; 3 in production, 1 on a single broker, of which a process warns in production.',
    example: '3',
    default: 3,
    min: 1,
    max: 9,
  }),
  KAFKA_SESSION_TIMEOUT_MS: integer({
    doc: 'A consumer that sends no heartbeat for this long loses its partitions to others; milliseconds. Brokers refuse less than their group.min.session.timeout.ms (6000 by default).',
    example: '6000',
    default: 6000,
    min: 1000,
    max: 7500,
    productionMin: 6000,
  }),
  ...addressConfig,
} as const;
