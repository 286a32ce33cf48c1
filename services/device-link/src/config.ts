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
    doc: "Where headsets connect: the headsets' own gRPC port.",
    example: '0.0.0.0:7443',
    default: { host: '127.0.0.1', port: 7443 },
  }),
  DEVICE_LINK_AUDIENCE: text({
    doc: 'Audience (aud) that the tokens of headsets must name.',
    example: 'headset-cloud/device-link',
    default: 'headset-cloud/device-link',
  }),
  DEVICE_LINK_TLS_CERT_FILE: text({
    doc: 'File with the certificate chain (PEM) that headsets are shown: DEVICE_LINK_LISTEN then speaks TLS only (1.2 and newer). Read again when it changes; not set: plaintext, for a layer-4 proxy that ends TLS.',
    example: '/etc/headset-cloud/headsets/tls.crt',
  }),
  DEVICE_LINK_TLS_KEY_FILE: text({
    doc: 'File with the private key of DEVICE_LINK_TLS_CERT_FILE (PEM). Read again when it changes.',
    example: '/etc/headset-cloud/headsets/tls.key',
  }),
  DEVICE_LINK_SESSION_AGE_MS: integer({
    doc: 'How long a session of a headset lasts at most before its headset is asked to connect again; each session draws a share of 80 to 100 % of it, so that headsets do not come back at once; milliseconds.',
    example: '86400000',
    default: 86_400_000,
    min: 1000,
    max: 86_400_000,
  }),
  DEVICE_LINK_KEY_CHECK_MS: integer({
    doc: 'How often devices is asked whether the keys of the open sessions are still registered; the session of a removed key ends, up to the default within 5 s. Each check asks about the sessions of devices that have just lost a key, and about so many others that all had their turn within a minute; milliseconds.',
    example: '2000',
    default: 2000,
    min: 50,
    max: 60_000,
  }),
  ADVERTISE_ADDRESS: text({
    doc: "host:port at which the other instances reach this one's internal gRPC port; not set: the only instance (refused in production).",
    example: '10.0.3.17:7000',
    pattern: /^(\[[0-9a-fA-F:]+\]|[^:[\]\s]+):\d{1,5}$/,
    form: 'host:port',
  }),
  DEVICE_LINK_LEASE_MS: integer({
    doc: 'How long the sessions of an instance count without a sign of life; it gives three in that time. In production at least 10000; milliseconds.',
    example: '15000',
    default: 15_000,
    min: 300,
    max: 300_000,
  }),
  DEVICE_LINK_REJUDGE_MS: integer({
    doc: 'How often a session is judged again, so that nothing waits for a reconnect (rule B5); milliseconds.',
    example: '300000',
    default: 300_000,
    min: 100,
    max: 3_600_000,
  }),
  DEVICE_LINK_OFFER_DEADLINE_MS: integer({
    doc: 'A headset that has not answered an offer for this long is disconnected as unresponsive (rule B6); milliseconds.',
    example: '30000',
    default: 30_000,
    min: 100,
    max: 600_000,
  }),
  DEVICE_LINK_HELLO_DEADLINE_MS: integer({
    doc: 'A headset must have sent its hello this long after it connected; milliseconds.',
    example: '10000',
    default: 10_000,
    min: 100,
    max: 60_000,
  }),
  // Nobody can make them so long that a silent headset is noticed later than the protocol page promises.
  DEVICE_LINK_KEEPALIVE_MS: integer({
    doc: 'How often a headset is asked for a sign of life (HTTP/2 ping); milliseconds.',
    example: '20000',
    default: 20_000,
    min: 100,
    max: 20_000,
  }),
  DEVICE_LINK_KEEPALIVE_TIMEOUT_MS: integer({
    doc: 'A headset that has not answered a ping for this long is offline; milliseconds.',
    example: '8000',
    default: 8000,
    min: 100,
    max: 8000,
  }),
  DEVICE_LINK_OFFLINE_AFTER_MS: integer({
    doc: 'A headset is offline this long after the end of its session (rule A21), counted only while the lease of the instance is unbroken; milliseconds.',
    example: '60000',
    default: 60_000,
    min: 200,
    max: 3_600_000,
  }),
  DEVICE_LINK_MAX_WAITING: integer({
    doc: 'Connections and streams that one instance holds beyond DEVICE_LINK_MAX_SESSIONS, for those without a session; one more replaces the one that has waited longest for its headset.',
    example: '4000',
    default: 4000,
    min: 10,
    max: 1_000_000,
  }),
  DEVICE_LINK_CONNECTIONS_OF_ADDRESS: integer({
    doc: 'Maximum number of headset connections from one address (IPv6: from one /64). Connections from TRUSTED_PROXIES count only towards the total. By default there is no limit, because many headsets may share an address (NAT, a proxy at layer 4).',
    example: '2000',
    min: 1,
    max: 1_000_000,
  }),
  DEVICE_LINK_PROXY_PROTOCOL: boolean({
    doc: 'Whether the proxies of TRUSTED_PROXIES begin each connection of a headset with a PROXY header (version 1 or 2), so that it counts for the address that the header names. A connection of theirs without one is closed. Demands TRUSTED_PROXIES.',
    example: 'true',
    default: false,
  }),
  DEVICE_LINK_QUEUED_REPORT_BYTES: integer({
    doc: 'Memory that reports of all headsets may take while they wait for the log; at the limit a stream is read on only when nothing of its headset waits; bytes.',
    example: '67108864',
    default: 64 * 1024 * 1024,
    min: 65_536,
    max: 68_719_476_736,
  }),
  DEVICE_LINK_MAX_SESSIONS: integer({
    doc: 'Headsets that one instance serves at most; more are sent away with UNAVAILABLE.',
    example: '20000',
    default: 20_000,
    min: 1,
    max: 1_000_000,
  }),
} as const;

/** For refusals of ADVERTISE_ADDRESS. */
export const advertiseExample = `Example: ADVERTISE_ADDRESS=${deviceLinkConfig.ADVERTISE_ADDRESS.example}`;

/** Shortest lease in production: a pause of the garbage collector or of the store must not end it. */
const productionLeaseMs = 10_000;

/** Throws ConfigError for what is allowed on a developer's machine only (rule B5). */
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

/** Whether proxies tell for whom they connect. Throws ConfigError when no proxy is trusted to. */
export function wantsProxyHeader(
  { DEVICE_LINK_PROXY_PROTOCOL: wanted }: Pick<DeviceLinkConfig, 'DEVICE_LINK_PROXY_PROTOCOL'>,
  { proxies }: { readonly proxies: BlockList },
): boolean {
  if (wanted && proxies.rules.length === 0) {
    const reason =
      'DEVICE_LINK_PROXY_PROTOCOL is true, but TRUSTED_PROXIES names no proxy whose headers are believed. Example: TRUSTED_PROXIES=10.0.0.0/8';
    throw new ConfigError([{ setting: 'TRUSTED_PROXIES', reason }]);
  }
  return wanted;
}

export type DeviceLinkConfig = ConfigOf<typeof deviceLinkConfig>;
