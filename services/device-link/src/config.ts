import type { BlockList } from 'node:net';
import {
  address,
  boolean,
  ConfigError,
  type ConfigOf,
  integer,
  text,
} from '@headset-cloud/runtime/config.ts';

/** Keys of device-link beside the common ones. */
export const deviceLinkConfig = {
  DEVICE_LINK_LISTEN: address({
    doc: 'Address of the gRPC listener for headsets.',
    example: '0.0.0.0:7443',
    default: { host: '127.0.0.1', port: 7443 },
  }),
  DEVICE_LINK_AUDIENCE: text({
    doc: 'Audience (aud) that the tokens of headsets must name.',
    example: 'headset-cloud/device-link',
    default: 'headset-cloud/device-link',
  }),
  DEVICE_LINK_TLS_CERT_FILE: text({
    doc: "File with the certificate chain (PEM) of the headsets' listener, which then accepts TLS only (1.2 and newer). Read again when it changes; not set: plaintext, for a layer-4 proxy that terminates TLS.",
    example: '/etc/headset-cloud/headsets/tls.crt',
  }),
  DEVICE_LINK_TLS_KEY_FILE: text({
    doc: 'File with the private key of DEVICE_LINK_TLS_CERT_FILE (PEM). Read again when it changes.',
    example: '/etc/headset-cloud/headsets/tls.key',
  }),
  DEVICE_LINK_SESSION_AGE_MS: integer({
    doc: "Maximum duration of a headset's session, after which its headset is asked to reconnect. Each session lasts a random share of 80 to 100 % of it, so that headsets do not reconnect at the same time; milliseconds.",
    example: '86400000',
    default: 86_400_000,
    min: 1000,
    max: 86_400_000,
  }),
  DEVICE_LINK_KEY_CHECK_MS: integer({
    doc: 'Interval of the checks whether the keys of open sessions are still registered. With the default or less, the session of a removed key ends within 5 s. Each check includes the sessions of devices that have just lost a key, and a share of the others, so that every session is checked within a minute; milliseconds.',
    example: '2000',
    default: 2000,
    min: 50,
    max: 60_000,
  }),
  ADVERTISE_ADDRESS: text({
    doc: "host:port of this instance's internal gRPC port, for the other instances; not set: the only instance (rejected in production).",
    example: '10.0.3.17:7000',
    pattern: /^(\[[0-9a-fA-F:]+\]|[^:[\]\s]+):\d{1,5}$/,
    form: 'host:port',
  }),
  DEVICE_LINK_LEASE_MS: integer({
    doc: "Duration of an instance's lease, without which its sessions do not count. The instance renews the lease three times in this time. In production at least 10000; milliseconds.",
    example: '15000',
    default: 15_000,
    min: 300,
    max: 300_000,
  }),
  DEVICE_LINK_RECONCILE_INTERVAL_MS: integer({
    doc: 'Interval of the periodic reconciliation of each session, so that nothing waits for a reconnect (rule B5); milliseconds.',
    example: '300000',
    formerName: 'DEVICE_LINK_REJUDGE_MS',
    default: 300_000,
    min: 100,
    max: 3_600_000,
  }),
  DEVICE_LINK_OFFER_DEADLINE_MS: integer({
    doc: 'Maximum time for the answer to an offer, after which the headset is disconnected as unresponsive (rule B6); milliseconds.',
    example: '30000',
    default: 30_000,
    min: 100,
    max: 600_000,
  }),
  DEVICE_LINK_HELLO_DEADLINE_MS: integer({
    doc: 'Maximum time from the connect of a headset to its hello; milliseconds.',
    example: '10000',
    default: 10_000,
    min: 100,
    max: 60_000,
  }),
  // The maximums of the two settings are the times that the protocol page guarantees for pings.
  DEVICE_LINK_KEEPALIVE_MS: integer({
    doc: 'Interval of the HTTP/2 pings to a headset; milliseconds.',
    example: '20000',
    default: 20_000,
    min: 100,
    max: 20_000,
  }),
  DEVICE_LINK_KEEPALIVE_TIMEOUT_MS: integer({
    doc: 'Maximum time for the answer to a ping, after which the headset is offline; milliseconds.',
    example: '8000',
    default: 8000,
    min: 100,
    max: 8000,
  }),
  DEVICE_LINK_OFFLINE_AFTER_MS: integer({
    doc: "Time from the end of a session until its headset is offline (rule A21). It restarts if the instance's lease expires; milliseconds.",
    example: '60000',
    default: 60_000,
    min: 200,
    max: 3_600_000,
  }),
  DEVICE_LINK_MAX_WAITING: integer({
    doc: 'Maximum number of connections and streams without a session on one instance, in addition to DEVICE_LINK_MAX_SESSIONS. At the limit, a new one replaces the one that has waited longest for its hello.',
    example: '4000',
    default: 4000,
    min: 10,
    max: 1_000_000,
  }),
  DEVICE_LINK_CONNECTIONS_PER_ADDRESS: integer({
    doc: 'Maximum number of headset connections from one address (IPv6: from one /64). Connections from TRUSTED_PROXIES count only towards the total. By default there is no limit, because many headsets may share an address (NAT, a proxy at layer 4).',
    example: '2000',
    min: 1,
    max: 1_000_000,
  }),
  DEVICE_LINK_PROXY_PROTOCOL: boolean({
    doc: 'True if the proxies of TRUSTED_PROXIES begin each connection of a headset with a PROXY header (version 1 or 2). The connection counts for the address in the header. A connection of these proxies without a header is closed. Requires TRUSTED_PROXIES.',
    example: 'true',
    default: false,
  }),
  DEVICE_LINK_QUEUED_REPORT_BYTES: integer({
    doc: 'Memory budget for reports of all headsets that wait for the log. At the limit, only streams without a waiting report are read; bytes.',
    example: '67108864',
    default: 64 * 1024 * 1024,
    min: 65_536,
    max: 68_719_476_736,
  }),
  DEVICE_LINK_MAX_SESSIONS: integer({
    doc: 'Maximum number of sessions on one instance; further headsets are rejected with UNAVAILABLE.',
    example: '20000',
    default: 20_000,
    min: 1,
    max: 1_000_000,
  }),
} as const;

/** Part of error messages about ADVERTISE_ADDRESS. */
export const advertiseExample = `Example: ADVERTISE_ADDRESS=${deviceLinkConfig.ADVERTISE_ADDRESS.example}`;

/**
 * Minimum duration of a lease in production, so that a pause of the garbage collector or of the store does not end the
 * lease.
 */
const productionLeaseMs = 10_000;

/** Throws ConfigError for settings that are allowed on a developer's machine only (rule B5). */
export function requireProductionReady(
  config: Pick<DeviceLinkConfig, 'ADVERTISE_ADDRESS' | 'DEVICE_LINK_LEASE_MS'>,
  env: { NODE_ENV?: string | undefined },
): void {
  if (env.NODE_ENV !== 'production') return;
  if (!config.ADVERTISE_ADDRESS) {
    throw new ConfigError([
      {
        setting: 'ADVERTISE_ADDRESS',
        reason: `ADVERTISE_ADDRESS is not set, but NODE_ENV is production: set host:port. ${advertiseExample}`,
      },
    ]);
  }
  if (config.DEVICE_LINK_LEASE_MS < productionLeaseMs) {
    throw new ConfigError([
      {
        setting: 'DEVICE_LINK_LEASE_MS',
        reason: `DEVICE_LINK_LEASE_MS is below ${productionLeaseMs}, but NODE_ENV is production: leave it out, or raise it. Example: DEVICE_LINK_LEASE_MS=${deviceLinkConfig.DEVICE_LINK_LEASE_MS.example}`,
      },
    ]);
  }
}

/** True if proxies send PROXY headers. Throws ConfigError if no proxy is trusted. */
export function wantsProxyHeader(
  { DEVICE_LINK_PROXY_PROTOCOL: wanted }: Pick<DeviceLinkConfig, 'DEVICE_LINK_PROXY_PROTOCOL'>,
  { proxies }: { readonly proxies: BlockList },
): boolean {
  if (wanted && proxies.rules.length === 0) {
    const reason =
      'DEVICE_LINK_PROXY_PROTOCOL is true, but TRUSTED_PROXIES names no proxy. Example: TRUSTED_PROXIES=10.0.0.0/8';
    throw new ConfigError([{ setting: 'TRUSTED_PROXIES', reason }]);
  }
  return wanted;
}

export type DeviceLinkConfig = ConfigOf<typeof deviceLinkConfig>;
