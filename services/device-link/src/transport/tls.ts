import type { ServerTls } from '@headset-cloud/rpc/secure-listener.ts';
import { ConfigError } from '@headset-cloud/runtime/config.ts';
import type { Connections } from '@headset-cloud/runtime/listeners/connections.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { openCertificateFiles } from '@headset-cloud/runtime/tls/certificate-files.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { type DeviceLinkConfig, deviceLinkConfig } from '../config.ts';

interface TlsDeps {
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly connections: Connections;
  /** How often the certificate files are read again; milliseconds. */
  readonly everyMs?: number;
}

const settings = ['DEVICE_LINK_TLS_CERT_FILE', 'DEVICE_LINK_TLS_KEY_FILE'] as const;

/**
 * TLS of the listener for headsets; undefined if the configuration names no certificate. Throws ConfigError if only
 * one of the two files is set, or if a file is invalid.
 */
export function openHeadsetTls(
  config: Pick<DeviceLinkConfig, (typeof settings)[number]>,
  { logger, metrics, everyMs, connections }: TlsDeps,
): ServerTls | undefined {
  const [cert, key] = settings.map((setting) => ({ setting, path: config[setting] }));
  if (!cert?.path && !key?.path) return undefined;
  const named = (one: typeof cert) => {
    if (one?.path) return { setting: one.setting, path: one.path };
    const setting = one?.setting ?? settings[0];
    const { doc, example } = deviceLinkConfig[setting];
    const other = settings.find((s) => s !== setting);
    const reason = `${setting} is missing, but ${other} is set. ${doc} Example: ${setting}=${example}`;
    throw new ConfigError([{ setting, reason }]);
  };
  const files = openCertificateFiles({
    cert: named(cert),
    key: named(key),
    logger,
    ...(everyMs && { everyMs }),
  });
  const failed = new Counter({
    name: 'headset_link_handshakes_failed_total',
    help: 'Connections to the port of headsets that failed in their TLS handshake.',
    registers: [metrics],
  });
  new Gauge({
    name: 'headset_link_certificate_expiry_timestamp_seconds',
    help: "Expiry of the certificate of the headsets' listener; seconds since 1970.",
    registers: [metrics],
    collect() {
      this.set(files.expiresAtMs() / 1000);
    },
  });
  return { mode: 'server', files, connections, observe: { handshakeFailed: () => failed.inc() } };
}
