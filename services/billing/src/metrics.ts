import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Counter, Histogram, type Registry } from 'prom-client';

export type UsageOutcome = 'taken' | 'duplicate' | 'conflicting' | 'malformed';

/** Metrics of this service. */
export interface BillingMetrics {
  usage(outcome: UsageOutcome, events: number): void;
  /** Runs `work`, which computes a bill, and records its time and outcome. */
  bill<T>(work: () => Promise<T>): Promise<T>;
}

/** Registers the service's metrics (rule C18). */
export function createMetrics(registry: Registry): BillingMetrics {
  const usage = new Counter({
    name: 'headset_usage_events_total',
    help: 'Usage events, by outcome: taken, duplicate (already stored, for example by a batch that is repeated), conflicting (stored with other content) and malformed. Conflicting and malformed events become dead letters.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const bills = new Histogram({
    name: 'headset_bill_seconds',
    help: 'Time to add up a bill for the gateway, by outcome: ok, or the error.',
    labelNames: ['outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    usage(outcome, events) {
      if (events > 0) usage.inc({ outcome }, events);
    },
    async bill(work) {
      const end = bills.startTimer();
      try {
        const bill = await work();
        end({ outcome: 'ok' });
        return bill;
      } catch (error) {
        end({ outcome: error instanceof DomainError ? error.code : 'internal' });
        throw error;
      }
    },
  };
}
