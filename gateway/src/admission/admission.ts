import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { AdaptiveLimit } from './adaptive-limit.ts';

/**
 * Admits as many concurrent calls as the services answer in time (ADR 0046). Without this limit, overloaded
 * services would start all calls and finish none of them before the deadline.
 */
export interface Admission {
  /**
   * Runs the work of a client's call to a service. Throws `unavailable` with a retry time, without starting the work,
   * if the answer would be too late.
   */
  admit<T>(service: string, clientId: string, work: () => Promise<T>): Promise<T>;
}

/** Retry time for rejected calls; milliseconds. It is random, so that clients do not all retry at the same time. */
const retryMs = { min: 1000, jitter: 2000 };

export function createAdmission(services: Iterable<string>, metrics: Registry): Admission {
  const limits = new Map([...services].map((service) => [service, new AdaptiveLimit()]));
  const refused = new Counter({
    name: 'headset_gateway_overload_refused_total',
    help: 'Calls that this gateway answered with 503 at once, because the service did not answer earlier calls in time.',
    labelNames: ['service'],
    registers: [metrics],
  });
  for (const service of limits.keys()) refused.inc({ service }, 0);
  new Gauge({
    name: 'headset_gateway_calls_in_progress_limit',
    help: 'Maximum concurrent calls that this gateway admits. Falls while the service answers too late.',
    labelNames: ['service'],
    registers: [metrics],
    collect() {
      for (const [service, limit] of limits) this.set({ service }, limit.limit);
    },
  });
  return {
    async admit(service, clientId, work) {
      const limit = limits.get(service);
      if (!limit) throw new Error(`there is no service ${service}`);
      const end = limit.enter(clientId);
      if (!end) {
        refused.inc({ service });
        throw new DomainError('unavailable', 'The platform is overloaded. Try again later.', {
          retryAfterMs: retryMs.min + Math.random() * retryMs.jitter,
        });
      }
      let late = false;
      try {
        return await work();
      } catch (error) {
        late = error instanceof DomainError && error.code === 'deadline_exceeded';
        throw error;
      } finally {
        end(late);
      }
    },
  };
}
