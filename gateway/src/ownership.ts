import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { requireTime, untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import { isTooSlow, isTransient } from '@headset-cloud/runtime/errors.ts';
import { LRUCache } from 'lru-cache';
import type { ClientLimits, OwnershipLookup, Shares } from './shares/shares.ts';

/** How long a confirmed ownership is cached; milliseconds. A withdrawal takes effect within this time. */
const cacheMs = 5000;

/**
 * Checks that the application belongs to the token's client (rule C11), or, for a call without an application, that the
 * client belongs to a developer. Caches positive answers for a short time. Throws the errors of devices:
 * developer_not_registered (500) and application_forbidden (403). Throws too_many_requests (429) for a client with too
 * many of these errors. Resolves with the client's limits.
 */
export type Ownership = (clientId: string, applicationId: string | undefined) => Promise<ClientLimits>;

export function createOwnership(
  applications: Pick<Client<typeof ApplicationsService>, 'authorizeApplication' | 'authorizeDeveloper'>,
  clock: Clock,
  shares: Pick<Shares, 'admitLookup'>,
  size = 10_000,
): Ownership {
  // Monotonic, because a wall clock that is set back must not prolong the cache.
  const nowMs = () => monotonicMs(clock);
  const cache = new LRUCache<string, { readonly untilMs: number; readonly limits: ClientLimits }>({
    max: size,
  });
  const lookups = new Map<string, Promise<ClientLimits>>();

  async function lookUp(
    key: string,
    admitted: OwnershipLookup | undefined,
    clientId: string,
    applicationId: string | undefined,
  ) {
    const startedAt = nowMs();
    try {
      const { limits = {} } =
        applicationId === undefined
          ? await applications.authorizeDeveloper({ clientId })
          : await applications.authorizeApplication({ clientId, applicationId });
      cache.set(key, { untilMs: startedAt + cacheMs, limits });
      return limits;
    } catch (error) {
      if (!isTransient(error)) {
        admitted?.rejected();
        cache.delete(key);
      }
      throw error;
    } finally {
      admitted?.end();
      lookups.delete(key);
    }
  }

  return async (clientId, applicationId) => {
    const key = JSON.stringify([clientId, applicationId]);
    const found = cache.get(key);
    if (found && found.untilMs > nowMs()) return found.limits;
    // Concurrent requests that miss the cache share one lookup. The lookup has its own deadline, and each caller waits
    // until its own deadline.
    const earlier = lookups.get(key);
    if (earlier) {
      try {
        return await untilDeadline(earlier);
      } catch (error) {
        if (!isTooSlow(error)) throw error;
        // The shared lookup began earlier than this call, so it may time out before this caller's deadline. Then this
        // caller starts another lookup.
        requireTime();
      }
    }
    let answer = lookups.get(key);
    if (!answer) {
      // An expired entry proves an earlier ownership, so this lookup does not count towards the client's limit of
      // lookups. `admitLookup` throws before the lookup is shared, so only this caller gets its error.
      const admitted = cache.has(key) ? undefined : shares.admitLookup(clientId);
      answer = withoutDeadline(() => lookUp(key, admitted, clientId, applicationId));
      lookups.set(key, answer);
    }
    return untilDeadline(answer);
  };
}
