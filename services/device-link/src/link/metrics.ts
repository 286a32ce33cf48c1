import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { createRefusals, type Refusals } from '@headset-cloud/runtime/refusals.ts';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Displacement } from './displacements.ts';

export type IncomingKind = 'hello' | 'ready' | 'report' | 'urlRequest' | 'invalid';
export type OutgoingKind =
  | 'welcome'
  | 'offer'
  | 'start'
  | 'drop'
  | 'revoke'
  | 'reportAck'
  | 'goAway'
  | 'urlAnswer';

const refusals = [
  'token',
  'key_removed',
  'hello_missing',
  'protocol',
  'full',
  'crowded',
  'draining',
  'unavailable',
] as const;
/** Why a stream ends before its session began. */
export type StreamRefusal = (typeof refusals)[number];

/** Registers headset_streams_refused_total; each refusal is counted, and logged gathered. */
export function createStreamRefusals(registry: Registry, logger: Logger): Refusals<StreamRefusal> {
  return createRefusals(
    new Counter({
      name: 'headset_streams_refused_total',
      help: 'Streams of headsets that were refused before their session began: token, key_removed, hello_missing (none in time), protocol (a hello out of form, or of another version), full (DEVICE_LINK_MAX_SESSIONS), crowded (a newer stream took the place), draining (this instance stops), unavailable (tokens cannot be checked, or a fault of the service).',
      labelNames: ['reason'],
      registers: [registry],
    }),
    refusals,
    (fields) => {
      // All headsets of an instance that stops, some of which come back too soon.
      if (fields['reason'] === 'draining') logger.debug(fields, 'a stream of a headset was refused');
      else logger.warn(fields, 'a stream of a headset was refused');
    },
  );
}

/** Registers headset_sessions_displaced_total. */
export function createDisplacementCounter(registry: Registry): (why: Displacement) => void {
  const counter = new Counter({
    name: 'headset_sessions_displaced_total',
    help: 'Open sessions of headsets that ended because a newer session of the same device began: reconnect (the cloud had not noticed the end of the connection), shared_identity (the tenth within an hour or later: two headsets probably use one identity).',
    labelNames: ['reason'],
    registers: [registry],
  });
  // A rate needs a value before the first one.
  for (const reason of ['reconnect', 'shared_identity'] as const) counter.inc({ reason }, 0);
  return (reason) => counter.inc({ reason });
}

/** What device-link counts. */
export interface LinkMetrics {
  received(kind: IncomingKind): void;
  sent(kind: OutgoingKind): void;
  /** A publish of reports, from its first try until it is durable; seconds. */
  published(seconds: number): void;
}

/**
 * Registers headset_sessions, headset_queued_report_bytes, headset_session_messages_total and
 * headset_report_publish_seconds.
 */
export function createMetrics(
  registry: Registry,
  sessionCount: () => number,
  queuedReportBytes: () => number,
): LinkMetrics {
  new Gauge({
    name: 'headset_sessions',
    help: 'Headsets connected to this instance.',
    registers: [registry],
    collect() {
      this.set(sessionCount());
    },
  });
  new Gauge({
    name: 'headset_queued_report_bytes',
    help: 'Memory that reports take while they wait for the log; at DEVICE_LINK_QUEUED_REPORT_BYTES the streams wait.',
    registers: [registry],
    collect() {
      this.set(queuedReportBytes());
    },
  });
  const messages = new Counter({
    name: 'headset_session_messages_total',
    help: 'Messages on the streams of headsets, by direction (in: from the headset) and kind.',
    labelNames: ['direction', 'kind'] as const,
    registers: [registry],
  });
  const publish = new Histogram({
    name: 'headset_report_publish_seconds',
    help: 'Time from the receipt of a batch of reports until the log has it durably.',
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  // A child for each label is made once: these are counted for each message.
  const children = <K extends string>(direction: string, kinds: readonly K[]) =>
    Object.fromEntries(kinds.map((kind) => [kind, messages.labels(direction, kind)])) as Record<
      K,
      Counter.Internal
    >;
  const received = children<IncomingKind>('in', ['hello', 'ready', 'report', 'urlRequest', 'invalid']);
  const sent = children<OutgoingKind>('out', [
    'welcome',
    'offer',
    'start',
    'drop',
    'revoke',
    'reportAck',
    'goAway',
    'urlAnswer',
  ]);
  return {
    received: (kind) => received[kind].inc(),
    sent: (kind) => sent[kind].inc(),
    published: (seconds) => publish.observe(seconds),
  };
}
