import { setTimeout } from 'node:timers/promises';
import { context, trace } from '@opentelemetry/api';
import { type Logger, pino } from 'pino';
import { Counter, type Registry } from 'prom-client';

export type { Logger };

/** What waits while nobody reads the log, in characters; more lines are dropped, so that a stuck collector ends no process. */
const mostWaiting = 8 * 1024 * 1024;

/** How long the end of a process waits for whoever reads its log; milliseconds. */
const mostAtEndMs = 1000;

/**
 * JSON logs with the trace's ids (rule C18). Callers log ids and outcomes, never bodies, keys or
 * tokens; the redaction below is the second line of defence.
 */
export function createLogger(options: {
  service?: string;
  level: string;
  destination?: number;
  /** Gets headset_log_lines_dropped_total. */
  metrics?: Registry;
}): Logger {
  const destination = openDestination(options.destination ?? 1);
  if (options.metrics) {
    const dropped = new Counter({
      name: 'headset_log_lines_dropped_total',
      help: 'Log lines that were dropped because nobody read the log of this process.',
      registers: [options.metrics],
    });
    destination.on('drop', () => dropped.inc());
  }
  return pino(
    {
      level: options.level,
      base: options.service ? { service: options.service } : {},
      timestamp: pino.stdTimeFunctions.isoTime,
      messageKey: 'message',
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => {
        const span = trace.getSpanContext(context.active());
        return span ? { traceId: span.traceId, spanId: span.spanId } : {};
      },
      redact: {
        paths: [
          'authorization',
          'authenticationKey',
          'clientSecret',
          'body',
          '*.authorization',
          '*.authenticationKey',
          '*.clientSecret',
          '*.body',
        ],
        censor: '[redacted]',
      },
    },
    destination,
  );
}

type Destination = ReturnType<typeof pino.destination>;
const destinations = new Set<WeakRef<Destination>>();

/** For the end of a process: resolves when all lines are written, or cannot be; after a second at the latest. */
export async function flushLogs(): Promise<void> {
  const open = [...destinations].flatMap((reference) => reference.deref() ?? []);
  const flushed = open.map((destination) => new Promise<void>((done) => destination.flush(() => done())));
  await Promise.race([Promise.all(flushed), setTimeout(mostAtEndMs)]);
}

/**
 * Where a line cannot be written (a full disk), it waits for the next one. pino's own destination would end the
 * process for that, and at its end try for ever.
 */
function openDestination(fd: number): Destination {
  let untilMs = Number.POSITIVE_INFINITY;
  let failing = false;
  const retryEAGAIN = () => Date.now() < untilMs;
  // Each line is written at once, as without a least length; but without one, flush waits for nothing.
  const destination = pino.destination({
    fd,
    sync: false,
    minLength: 1,
    maxLength: mostWaiting,
    retryEAGAIN,
  });
  destination.on('error', () => {
    failing = true;
  });
  destination.on('write', () => {
    failing = false;
  });
  const flushSync = destination.flushSync.bind(destination);
  destination.flushSync = () => {
    if (failing) return;
    untilMs = Date.now() + mostAtEndMs;
    try {
      flushSync();
    } catch {
      // Nobody reads: what waits is lost.
    }
    untilMs = Number.POSITIVE_INFINITY;
  };
  destinations.add(new WeakRef(destination));
  return destination;
}
