import { DomainError } from '@headset-cloud/kit/errors.ts';
import { Counter, Gauge, type Registry } from 'prom-client';
import { AdaptiveLimit } from './adaptive-limit.ts';

/**
 * Admits as many calls at the same time as the services answer in time (ADR 0046). Without it, more calls than the
 * services can do before the gateway's deadline would all be worked on and all be given up.
 */
export interface Admission {
  /**
   * Does the work of a client's call to a service. Throws `unavailable`, with the time to come back, and begins
   * nothing where the answer would come too late anyway.
   */
  admit<T>(service: string, clientId: string, work: () => Promise<T>): Promise<T>;
}

/** When refused calls may come again; milliseconds. Spread, so that they do not come together. */
const retryMs = { from: 1000, spread: 2000 };

export function createAdmission(services: Iterable<string>, metrics: Registry): Admission {
  const limits = new Map([...services].map((service) => [service, new AdaptiveLimit()]));
  const refused = new Counter({
    name: 'headset_gateway_overload_refused_total',
    help: 'Calls answered 503 at once by this gateway, because the service did not answer the calls before them in time.',
    labelNames: ['service'],
    registers: [metrics],
  });
  for (const service of limits.keys()) refused.inc({ service }, 0);
  new Gauge({
    name: 'headset_gateway_calls_under_way_limit',
    help: 'Most calls that this gateway lets continue at the same time: falls while the service answers too late.',
    labelNames: ['service'],
    registers: [metrics],
    collect() {
      for (const [service, limit] of limits) this.set({ service }, limit.most);
    },
  });
  return {
    async admit(service, clientId, work) {
      const limit = limits.get(service);
      if (!limit) throw new Error(`there is no service ${service}`);
      const end = limit.enter(clientId);
      if (!end) {
        refused.inc({ service });
        throw new DomainError('unavailable', 'The platform has too many calls to do. Try again later.', {
          retryAfterMs: retryMs.from + Math.random() * retryMs.spread,
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
