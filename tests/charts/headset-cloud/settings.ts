import { billingConfig } from '@headset-cloud/billing/config.ts';
import { communicationConfig } from '@headset-cloud/communication/config.ts';
import { connectivityConfig } from '@headset-cloud/connectivity/config.ts';
import { deviceLinkConfig } from '@headset-cloud/device-link/config.ts';
import { devicesConfig } from '@headset-cloud/devices/config.ts';
import { kafkaSecurityConfig } from '@headset-cloud/eventlog/kafka-security.ts';
import { gatewayConfig } from '@headset-cloud/gateway/config.ts';
import { notifierConfig } from '@headset-cloud/notifier/config.ts';
import { addressConfig, commonConfig, distributedConfig } from '@headset-cloud/process/common-config.ts';
import { rpcSecurityConfig } from '@headset-cloud/rpc/security.ts';
import type { ConfigKey, ConfigSpec } from '@headset-cloud/runtime/config.ts';
import { sealingConfig } from '@headset-cloud/runtime/sealing-config.ts';
import { transactionsConfig } from '@headset-cloud/transactions/config.ts';
import { updatesConfig } from '@headset-cloud/updates/config.ts';

/** Settings of every service in addition to its own. */
const serviceCommon: ConfigSpec = { ...commonConfig, ...distributedConfig };

/** The settings that only one component has. */
export const ownSettings: Readonly<Record<string, ConfigSpec>> = {
  gateway: gatewayConfig,
  devices: devicesConfig,
  transactions: transactionsConfig,
  updates: updatesConfig,
  connectivity: connectivityConfig,
  communication: communicationConfig,
  billing: billingConfig,
  notifier: notifierConfig,
  'device-link': deviceLinkConfig,
};

/** The services that seal stored values. */
export const sealing: ReadonlySet<string> = new Set(['devices', 'transactions', 'updates', 'communication']);

/** Every setting that a component's process reads. */
export function settingsOf(component: string): ConfigSpec {
  const { GRPC_LISTEN, RPC_CONNECTION_AGE_MS } = distributedConfig;
  const common =
    component === 'gateway'
      ? { ...commonConfig, GRPC_LISTEN, RPC_CONNECTION_AGE_MS, ...addressConfig }
      : serviceCommon;
  return { ...common, ...(sealing.has(component) ? sealingConfig : {}), ...ownSettings[component] };
}

/** Settings of all processes that the chart leaves to the values. */
export const commonSettings: ConfigSpec = { ...commonConfig, ...addressConfig };

/** Read by Node, the AWS SDK and OpenTelemetry themselves. */
export const foreignSettings: ReadonlySet<string> = new Set([
  'NODE_ENV',
  'NODE_OPTIONS',
  'NODE_EXTRA_CA_CERTS',
  'AWS_SHARED_CREDENTIALS_FILE',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  // Read by no process: the kubelet puts it into ADVERTISE_ADDRESS.
  'POD_IP',
]);

/** Settings that the chart itself sets, or that a pod cannot use; the values cannot change them. */
export const chartSettings: ReadonlySet<string> = new Set([
  ...Object.keys(ownSettings).map((name) => `${name.toUpperCase().replaceAll('-', '_')}_ADDRESS`),
  'ADMIN_LISTEN',
  'ADMIN_TOKEN',
  'ADMIN_TOKEN_BEFORE',
  'ADVERTISE_ADDRESS',
  'COMMUNICATION_ALLOW_ADDRESSES',
  'COMMUNICATION_LISTEN',
  'DATA_DIR',
  'DEVICE_LINK_LISTEN',
  'DEVICE_LINK_TLS_CERT_FILE',
  'DEVICE_LINK_TLS_KEY_FILE',
  'EGRESS_NO_PROXY',
  'EGRESS_PROXY',
  'EGRESS_PROXY_CREDENTIALS',
  'GATEWAY_LISTEN',
  'GATEWAY_PEERS',
  'GRPC_LISTEN',
  'KAFKA_BROKERS',
  'KAFKA_PARTITIONS',
  'KAFKA_PREFIX',
  'KAFKA_REPLICATION_FACTOR',
  'METRICS_TOKEN',
  'MONGODB_DATABASE_PREFIX',
  'MONGODB_URI',
  'NOTIFIER_ALLOW_ADDRESSES',
  'OIDC_AUDIENCE',
  'OIDC_ISSUER',
  'OIDC_JWKS_URI',
  ...Object.keys(rpcSecurityConfig),
  // The chart has separate values for the keys that pods can use.
  ...Object.keys(kafkaSecurityConfig),
  'S3_BUCKET',
  'S3_ENDPOINT',
  'S3_PUBLIC_ENDPOINT',
  'S3_REGION',
  'SCHEMA',
  'SECRET_KEY',
  'SECRET_KEY_OTHERS',
  'STOP_GRACE_MS',
  'STOP_DELAY_MS',
  'UPDATES_LISTEN',
  'UPDATES_PUBLIC_URL',
  'UPDATES_TEMP_DIR',
]);

/** True for a boolean setting, which YAML also writes as a word. */
const isSwitch = (key: ConfigKey<unknown>): boolean => {
  try {
    return key.parse('true') === true;
  } catch {
    return false;
  }
};

type Bounds = { min?: number; max?: number; words?: readonly string[]; pattern?: RegExp };

/** JSON schema of one setting, from its specification. */
export function settingSchema(key: ConfigKey<unknown>): Record<string, unknown> {
  const { min, max, words, pattern } = key as ConfigKey<unknown> & Bounds;
  const description = key.doc;
  if (words) return { description, enum: words };
  if (min !== undefined && max !== undefined) {
    const whole = /^\d+$/.test(key.example);
    return {
      description,
      type: whole ? 'integer' : 'number',
      minimum: key.productionMin ?? min,
      maximum: max,
    };
  }
  if (isSwitch(key)) return { description, enum: [true, false, 'true', 'false'] };
  // Go's patterns have no flags; the text's own check validates the rest at the start of the process.
  return {
    description,
    type: 'string',
    minLength: 1,
    ...(pattern && pattern.flags === '' ? { pattern: pattern.source } : {}),
  };
}
