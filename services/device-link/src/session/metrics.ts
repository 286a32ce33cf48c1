import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

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

/** Counters of sessions' messages. */
export interface SessionMetrics {
  received(kind: IncomingKind): void;
  sent(kind: OutgoingKind): void;
  /** Duration of a publish of reports; seconds. */
  published(seconds: number): void;
}

/**
 * Registers headset_sessions, headset_queued_report_bytes, headset_session_messages_total and
 * headset_report_publish_seconds.
 */
export function createSessionMetrics(
  registry: Registry,
  sessionCount: () => number,
  queuedReportBytes: () => number,
): SessionMetrics {
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
  // The counters of all label values are created once, because each message increments one.
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
