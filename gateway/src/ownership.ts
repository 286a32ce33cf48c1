import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { requireTime, untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import { isTooSlow, isTransient } from '@headset-cloud/runtime/errors.ts';
import { LRUCache } from 'lru-cache';
import type { ClientLimits, Shares, UnauthorizedCaller } from './shares/shares.ts';

/** How long a confirmed ownership is cached; milliseconds. A withdrawal takes effect within this time. */
const keepMs = 5000;

/**
 * Checks that the application belongs to the token's client (rule C11), or, for a call without an application, that the
 * client belongs to a developer. Caches positive answers for a short time. Throws the errors of devices:
 * developer_not_registered (500), application_forbidden (403), or too_many_requests (429) for a client with too many of
 * these errors. Resolves to the client's limits.
 */
export type Ownership = (clientId: string, applicationId: string | undefined) => Promise<ClientLimits>;

export function createOwnership(
  applications: Pick<Client<typeof ApplicationsService>, 'authorizeApplication' | 'authorizeDeveloper'>,
  clock: Clock,
  shares: Pick<Shares, 'unauthorizedCaller'>,
  size = 10_000,
): Ownership {
  // Monotonic, because a wall clock that is set back must not prolong the cache.
  const nowMs = () => monotonicMs(clock);
  const kept = new LRUCache<string, { readonly untilMs: number; readonly limits: ClientLimits }>({
    max: size,
  });
  const asking = new Map<string, Promise<ClientLimits>>();

  async function ask(
    key: string,
    unauthorizedCaller: UnauthorizedCaller | undefined,
    clientId: string,
    applicationId: string | undefined,
  ) {
    const askedAt = nowMs();
    try {
      const { limits = {} } =
        applicationId === undefined
          ? await applications.authorizeDeveloper({ clientId })
          : await applications.authorizeApplication({ clientId, applicationId });
      kept.set(key, { untilMs: askedAt + keepMs, limits });
      return limits;
    } catch (error) {
      if (!isTransient(error)) {
        unauthorizedCaller?.refused();
        kept.delete(key);
      }
      throw error;
    } finally {
      unauthorizedCaller?.end();
      asking.delete(key);
    }
  }

  return async (clientId, applicationId) => {
    const key = JSON.stringify([clientId, applicationId]);
    const found = kept.get(key);
    if (found && found.untilMs > nowMs()) return found.limits;
    // Concurrent requests that miss the cache share one lookup. The lookup has its own deadline, and each caller waits
    // until its own deadline.
    const earlier = asking.get(key);
    if (earlier) {
      try {
        return await untilDeadline(earlier);
      } catch (error) {
        if (!isTooSlow(error)) throw error;
        // The lookup began before this caller came, so it may end before this caller's deadline.
        requireTime();
      }
    }
    let answer = asking.get(key);
    if (!answer) {
      // A client that owned the application a while ago is not limited, whatever its other lookups. This error is for
      // this caller only.
      const unauthorizedCaller = kept.has(key) ? undefined : shares.unauthorizedCaller(clientId);
      answer = withoutDeadline(() => ask(key, unauthorizedCaller, clientId, applicationId));
      asking.set(key, answer);
    }
    return untilDeadline(answer);
  };
}
