import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Counter, Histogram, type Registry } from 'prom-client';

/** Metrics of this service. */
export interface ConnectivityMetrics {
  /** Wraps a handler: counts its calls by name and outcome, and measures their time. */
  counted<Request extends unknown[], Answer>(
    call: string,
    handler: (...request: Request) => Promise<Answer>,
  ): (...request: Request) => Promise<Answer>;
}

/** Registers the service's metrics (rule C18). */
export function createMetrics(registry: Registry): ConnectivityMetrics {
  const calls = new Counter({
    name: 'headset_connectivity_calls_total',
    help: 'Connectivity calls, by call and outcome: ok, or the error.',
    labelNames: ['call', 'outcome'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'headset_connectivity_call_seconds',
    help: 'Duration of a connectivity call, by call. Mostly time spent waiting for devices and transactions.',
    labelNames: ['call'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    counted:
      (call, handler) =>
      async (...request) => {
        const end = seconds.startTimer({ call });
        try {
          const answer = await handler(...request);
          calls.inc({ call, outcome: 'ok' });
          return answer;
        } catch (error) {
          calls.inc({ call, outcome: error instanceof DomainError ? error.code : 'internal' });
          throw error;
        } finally {
          end();
        }
      },
  };
}
