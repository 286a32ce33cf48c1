import { context, trace } from '@opentelemetry/api';
import { type Logger, pino } from 'pino';

export type { Logger };

/**
 * JSON logs with the trace's ids (rule C18). Callers log ids and outcomes, never bodies, keys or
 * tokens; the redaction below is the second line of defence.
 */
export function createLogger(options: { service?: string; level: string; destination?: number }): Logger {
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
    pino.destination({ fd: options.destination ?? 1, sync: false }),
  );
}
