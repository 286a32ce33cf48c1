import { address, choice, integer, text } from '@headset-cloud/runtime/config.ts';
import { listenerConfig } from '@headset-cloud/runtime/listeners/config.ts';

/** Settings of every process, also of one without stores. */
export const processConfig = {
  LOG_LEVEL: choice({
    doc: 'Least severe level that is logged.',
    example: 'info',
    default: 'info',
    words: ['debug', 'info', 'warn', 'error', 'silent'],
  }),
  ADMIN_LISTEN: address({
    doc: "Address of the admin port (health, metrics, operators' calls); an address other than loopback requires ADMIN_TOKEN.",
    example: '127.0.0.1:9100',
    default: { host: '127.0.0.1', port: 9100 },
  }),
  ADMIN_TOKEN: text({
    doc: "Bearer token of the operators' listener; not needed on loopback.",
    example: 'a-long-random-text',
    secret: true,
    random: true,
    pattern: /^\S{16,}$/,
    form: 'at least 16 characters without spaces',
  }),
  ADMIN_TOKEN_BEFORE: text({
    doc: 'The previous ADMIN_TOKEN, also accepted while operators change to the new one.',
    example: 'the-token-until-now',
    secret: true,
    random: true,
    pattern: /^\S{16,}$/,
    form: 'at least 16 characters without spaces',
  }),
  METRICS_TOKEN: text({
    doc: 'Bearer token for /metrics only, so that Prometheus does not need ADMIN_TOKEN.',
    example: 'another-long-random-text',
    secret: true,
    random: true,
    pattern: /^\S{16,}$/,
    form: 'at least 16 characters without spaces',
  }),
  ...listenerConfig,
  STOP_DELAY_MS: integer({
    doc: 'Time after SIGTERM in which a process still serves but reports not ready, so that load balancers and callers switch to other instances; milliseconds.',
    example: '5000',
    formerName: 'TURN_AWAY_MS',
    default: 0,
    min: 0,
    max: 120_000,
  }),
  STOP_GRACE_MS: integer({
    doc: 'Time limit for the whole stop after STOP_DELAY_MS: open calls and callbacks end, other work is released; work that is still running at the limit is aborted. The terminationGracePeriodSeconds of a pod must exceed its preStop pause, STOP_DELAY_MS and this value together; milliseconds.',
    example: '40000',
    default: 10_000,
    min: 100,
    max: 600_000,
  }),
} as const;
