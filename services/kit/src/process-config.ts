import { address, choice, integer, text } from './config.ts';
import { listenerConfig } from './listeners/config.ts';

/** Keys of a process without stores. */
export const processConfig = {
  LOG_LEVEL: choice({
    doc: 'Least severe level that is logged.',
    example: 'info',
    default: 'info',
    words: ['debug', 'info', 'warn', 'error', 'silent'],
  }),
  ADMIN_LISTEN: address({
    doc: "Where health, metrics and the operators' listener listen; beyond loopback only with ADMIN_TOKEN.",
    example: '127.0.0.1:9100',
    default: { host: '127.0.0.1', port: 9100 },
  }),
  ADMIN_TOKEN: text({
    doc: "Bearer token of the operators' listener; none on loopback.",
    example: 'a-long-random-text',
    secret: true,
    random: true,
    pattern: /^\S{16,}$/,
    form: 'at least 16 characters without spaces',
  }),
  ADMIN_TOKEN_BEFORE: text({
    doc: 'The token that ADMIN_TOKEN replaces: accepted as well while operators change over.',
    example: 'the-token-until-now',
    secret: true,
    random: true,
    pattern: /^\S{16,}$/,
    form: 'at least 16 characters without spaces',
  }),
  METRICS_TOKEN: text({
    doc: 'Bearer token that reads /metrics and nothing else, so that Prometheus needs no ADMIN_TOKEN.',
    example: 'another-long-random-text',
    secret: true,
    random: true,
    pattern: /^\S{16,}$/,
    form: 'at least 16 characters without spaces',
  }),
  ...listenerConfig,
  TURN_AWAY_MS: integer({
    doc: 'How long a process continues to serve after SIGTERM while it reports not ready, so that load balancers and callers switch to other instances first; milliseconds.',
    example: '5000',
    default: 0,
    min: 0,
    max: 120_000,
  }),
  STOP_GRACE_MS: integer({
    doc: 'How long everything together may take to stop after TURN_AWAY_MS: open calls and callbacks on their way end, the rest is given back; what is left then is cut off. A pod’s grace must be longer than its preStop pause, TURN_AWAY_MS and this; milliseconds.',
    example: '40000',
    default: 10_000,
    min: 100,
    max: 600_000,
  }),
} as const;
