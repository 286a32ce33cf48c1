import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { LRUCache } from 'lru-cache';
import type { ClientLimits } from './shares/shares.ts';

/** How long a confirmed ownership is cached; a withdrawal takes effect within this time. */
const keepMs = 5000;

/**
 * Asks whether the token's client owns the application (rule C11), or, for a call that names none, whether
 * it belongs to a developer at all, and caches positive answers for a short time. Throws the errors of
 * devices: developer_not_registered (500), application_forbidden (403). Resolves to what the client may take.
 */
export type Ownership = (clientId: string, applicationId: string | undefined) => Promise<ClientLimits>;

export function createOwnership(
  applications: Pick<Client<typeof ApplicationsService>, 'authorizeApplication' | 'authorizeDeveloper'>,
  clock: Clock,
  size = 10_000,
): Ownership {
  // A wall clock that is set back must not prolong what is cached.
  const nowMs = () => clock.monotonicNow?.() ?? clock.now();
  const kept = new LRUCache<string, { readonly untilMs: number; readonly limits: ClientLimits }>({
    max: size,
  });
  const asking = new Map<string, Promise<ClientLimits>>();

  async function ask(key: string, clientId: string, applicationId: string | undefined) {
    const askedAt = nowMs();
    try {
      const { limits = {} } =
        applicationId === undefined
          ? await applications.authorizeDeveloper({ clientId })
          : await applications.authorizeApplication({ clientId, applicationId });
      kept.set(key, { untilMs: askedAt + keepMs, limits });
      return limits;
    } finally {
      asking.delete(key);
    }
  }

  return async (clientId, applicationId) => {
    const key = JSON.stringify([clientId, applicationId]);
    const found = kept.get(key);
    if (found && found.untilMs > nowMs()) return found.limits;
    // Concurrent requests that miss the cache share one call.
    let answer = asking.get(key);
    if (!answer) {
      answer = ask(key, clientId, applicationId);
      asking.set(key, answer);
    }
    return answer;
  };
}
