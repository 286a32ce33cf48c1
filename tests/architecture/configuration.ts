import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { billingConfig } from '@headset-cloud/billing/config.ts';
import { communicationConfig } from '@headset-cloud/communication/config.ts';
import { connectivityConfig } from '@headset-cloud/connectivity/config.ts';
import { deviceLinkConfig } from '@headset-cloud/device-link/config.ts';
import { devicesConfig } from '@headset-cloud/devices/config.ts';
import { gatewayConfig } from '@headset-cloud/gateway/config.ts';
import { commonConfig, distributedConfig, sealingConfig } from '@headset-cloud/kit/common-config.ts';
import type { ConfigSpec } from '@headset-cloud/kit/config.ts';
import { callbackAddressesConfig } from '@headset-cloud/kit/outbound/callback-addresses.ts';
import { egressConfig } from '@headset-cloud/kit/outbound/egress-config.ts';
import { retentionConfig } from '@headset-cloud/kit/retention/config.ts';
import { notifierConfig } from '@headset-cloud/notifier/config.ts';
import { standaloneConfig } from '@headset-cloud/standalone/config.ts';
import { transactionsConfig } from '@headset-cloud/transactions/config.ts';
import { updatesConfig } from '@headset-cloud/updates/config.ts';
import { root } from './imports.ts';

export const configurationFile = join(root, 'docs/configuration.md');

const own = Object.fromEntries(
  Object.entries(standaloneConfig).filter(([key]) => !(key in commonConfig || key in sealingConfig)),
) as ConfigSpec;

/** Keys that several processes read are listed once. */
function withoutShared(spec: ConfigSpec): ConfigSpec {
  const shared = { ...callbackAddressesConfig, ...egressConfig, ...retentionConfig };
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !(key in shared)));
}

/** Every configuration key, by the processes that read it. */
export const parts: readonly [string, ConfigSpec][] = [
  ['Every process', commonConfig],
  ['A process of one service, or of all, on MongoDB and Kafka', distributedConfig],
  ['Devices, transactions, updates, communication: what they seal at rest', sealingConfig],
  ['Gateway, updates, communication, notifier: calls to the outside', egressConfig],
  ['Devices, notifier: where callbacks may go', callbackAddressesConfig],
  ['Transactions, devices, billing: deletion of expired records', retentionConfig],
  ['Gateway', withoutShared(gatewayConfig)],
  ['Devices', withoutShared(devicesConfig)],
  ['Transactions', withoutShared(transactionsConfig)],
  ['Device-link', deviceLinkConfig],
  ['Updates', withoutShared(updatesConfig)],
  ['Connectivity', connectivityConfig],
  ['Communication', withoutShared(communicationConfig)],
  ['Billing', withoutShared(billingConfig)],
  ['Notifier', withoutShared(notifierConfig)],
  ['Standalone (the embedded default)', own],
];

function shown(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'object' && value !== null && 'host' in value && 'port' in value) {
    return `\`${value.host}:${value.port}\``;
  }
  return `\`${String(value)}\``;
}

/** Default ports of all listening keys, of all processes; keys of both stacks count once each. */
export function defaultPorts(): Map<number, string[]> {
  const ports = new Map<number, string[]>();
  for (const [key, k] of parts.flatMap(([, spec]) => Object.entries(spec))) {
    const port = (k.default as { readonly port?: number } | undefined)?.port;
    if (port !== undefined) ports.set(port, [...(ports.get(port) ?? []), key]);
  }
  return ports;
}

/** docs/configuration.md, from the specifications of the processes. */
export function configurationDocument(): string {
  const sections = parts.map(([title, spec]) => {
    const rows = Object.entries(spec).map(([key, k]) => {
      const fallback = k.required && k.default === undefined ? 'required' : shown(k.default);
      const secret = k.secret ? ` Secret: may be given as the file \`${key}_FILE\` names.` : '';
      const minimum = k.productionMin === undefined ? '' : ` In production at least ${k.productionMin}.`;
      return `| \`${key}\` | ${fallback} | \`${k.example}\` | ${k.doc}${minimum}${secret} |`;
    });
    return `## ${title}\n\n| key | default | example | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Configuration

Environment variables, read once at the start; a wrong value stops the start and names the key, the problem and an example. \`NODE_ENV\` is \`production\`, \`development\` or \`test\` (unset: development); any other word is refused. A secret that is given by itself and by its \`_FILE\` is refused. Written by \`make generate\` from the services' own specifications: do not edit.

${sections.join('\n')}
Traces: the standard OpenTelemetry variables (\`OTEL_EXPORTER_OTLP_ENDPOINT\` switches tracing on).
`;
}

if (import.meta.main) writeFileSync(configurationFile, configurationDocument());
