import { serviceNames } from '@headset-cloud/runtime/service-names.ts';

/** Default settings of every process that a stack starts. */
export const defaultSettings = {
  LOG_LEVEL: 'info',
  // Integrators and Sora run on this machine.
  NOTIFIER_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
  COMMUNICATION_ALLOW_ADDRESSES: '127.0.0.0/8,::1/128',
} as const;

/** Settings that a stack sets for at least one process: addresses, folders, secrets, stores. */
export const ownSettings: ReadonlySet<string> = new Set([
  ...['DATA_DIR', 'SECRET_KEY', 'ADMIN_LISTEN', 'GATEWAY_LISTEN', 'DEVICE_LINK_LISTEN'],
  ...['COMMUNICATION_LISTEN', 'UPDATES_LISTEN', 'ISSUER_LISTEN', 'ISSUER_CLIENTS_FILE'],
  ...['OIDC_ISSUER', 'OIDC_AUDIENCE', 'DEVICE_LINK_TLS_CERT_FILE', 'DEVICE_LINK_TLS_KEY_FILE'],
  ...['MONGODB_URI', 'MONGODB_DATABASE_PREFIX', 'KAFKA_BROKERS', 'KAFKA_PREFIX', 'KAFKA_REPLICATION_FACTOR'],
  ...['S3_ENDPOINT', 'S3_BUCKET', 'S3_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'],
  ...['RPC_TLS_MODE', 'RPC_TLS_CERT_FILE', 'RPC_TLS_KEY_FILE', 'RPC_TLS_CA_FILE', 'RPC_TLS_DOMAIN'],
  ...['GRPC_LISTEN', 'ADVERTISE_ADDRESS', 'GATEWAY_PEERS'],
  ...serviceNames.map((service) => `${service.toUpperCase().replace('-', '_')}_ADDRESS`),
]);
