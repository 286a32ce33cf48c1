import { type ConfigOf, text } from '@headset-cloud/runtime/config.ts';
import { parseNoProxy } from './no-proxy.ts';
import type { EgressProxy } from './tunnel.ts';

/** Settings of the processes that call external servers: gateway, notifier, communication, updates (ADR 0036). */
export const egressConfig = {
  EGRESS_PROXY: text({
    doc: 'HTTP proxy (CONNECT) for connections to integrators, the issuer, S3 and Sora’s archives; default: direct connections. Connections to stores, the trace collector and other services are always direct.',
    example: 'http://proxy.example.com:3128',
    pattern: /^https?:\/\/[^\s/?#@]+\/?$/,
    form: 'an http or https address without user, password and path',
  }),
  EGRESS_PROXY_CREDENTIALS: text({
    doc: 'User and password for EGRESS_PROXY, if the proxy requires them (Basic).',
    example: 'user:password',
    secret: true,
    pattern: /^[^:]+:.+$/,
    form: 'user:password',
  }),
  EGRESS_NO_PROXY: {
    ...text({
      doc: 'Destinations that are reached without EGRESS_PROXY, separated by commas: host names (with their subdomains), addresses, and networks of addresses in URLs.',
      example: 'storage.example.internal,10.20.0.0/16',
    }),
    parse: (value: string): string => {
      parseNoProxy(value);
      return value;
    },
  },
} as const;

export type EgressConfig = ConfigOf<typeof egressConfig>;

/** The configured proxy; undefined: none. */
export function egressProxyOf(config: EgressConfig): EgressProxy | undefined {
  if (!config.EGRESS_PROXY) return undefined;
  const { EGRESS_PROXY_CREDENTIALS: credentials } = config;
  return {
    origin: new URL(config.EGRESS_PROXY).origin,
    ...(credentials && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    bypass: parseNoProxy(config.EGRESS_NO_PROXY),
  };
}
