import { type Clock, monotonicMs } from '@headset-cloud/kit/clock.ts';
import { requireTime, untilDeadline, withoutDeadline } from '@headset-cloud/kit/deadline.ts';
import { isTooSlow, isTransient } from '@headset-cloud/kit/errors.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { LRUCache } from 'lru-cache';
import type { ClientLimits, Shares, UnauthorizedCaller } from './shares/shares.ts';

/** How long a confirmed ownership is cached; a withdrawal takes effect within this time. */
const keepMs = 5000;

/**
 * Asks whether the token's client owns the application (rule C11), or, for a call that names none, whether
 * it belongs to a developer at all, and caches positive answers for a short time. Throws the errors of
 * devices: developer_not_registered (500), application_forbidden (403), or, for a client that was given these too
 * often, too_many_requests (429). Resolves to what the client may take.
 */
export type Ownership = (clientId: string, applicationId: string | undefined) => Promise<ClientLimits>;

export function createOwnership(
  applications: Pick<Client<typeof ApplicationsService>, 'authorizeApplication' | 'authorizeDeveloper'>,
  clock: Clock,
  shares: Pick<Shares, 'unauthorizedCaller'>,
  size = 10_000,
): Ownership {
  // A wall clock that is set back must not prolong what is cached.
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
    // Concurrent requests that miss the cache share one lookup. It has its own deadline, and each caller waits until
    // the caller's own.
    const earlier = asking.get(key);
    if (earlier) {
      try {
        return await untilDeadline(earlier);
      } catch (error) {
        if (!isTooSlow(error)) throw error;
        // The lookup began before this caller came, so it may have ended before this caller's deadline.
        requireTime();
      }
    }
    let answer = asking.get(key);
    if (!answer) {
      // Whoever owned it a while ago does not ask in vain, whatever else the client asks for. What this throws is
      // nobody else's answer.
      const unauthorizedCaller = kept.has(key) ? undefined : shares.unauthorizedCaller(clientId);
      answer = withoutDeadline(() => ask(key, unauthorizedCaller, clientId, applicationId));
      asking.set(key, answer);
    }
    return untilDeadline(answer);
  };
}
