import { context, trace } from '@opentelemetry/api';
import { type Logger, pino } from 'pino';
import { Counter, type Registry } from 'prom-client';

export type { Logger };

/** What waits while nobody reads the log, in characters; more lines are dropped, so that a stuck collector ends no process. */
const mostWaiting = 8 * 1024 * 1024;

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
  const destination = pino.destination({ fd: options.destination ?? 1, sync: false, maxLength: mostWaiting });
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
