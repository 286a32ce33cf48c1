import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { LRUCache } from 'lru-cache';

/** How long a confirmed ownership is cached; a withdrawal takes effect within this time. */
const keepMs = 5000;

/**
 * Asks whether the token's client owns the application (rule C11), or, for a call that names none, whether
 * it belongs to a developer at all, and caches positive answers for a short time. Throws the errors of
 * devices: developer_not_registered (500), application_forbidden (403).
 */
export type Ownership = (clientId: string, applicationId: string | undefined) => Promise<void>;

export function createOwnership(
  applications: Pick<Client<typeof ApplicationsService>, 'authorizeApplication' | 'authorizeDeveloper'>,
  clock: Clock,
  size = 10_000,
): Ownership {
  // A wall clock that is set back must not prolong what is cached.
  const nowMs = () => clock.monotonicNow?.() ?? clock.now();
  const until = new LRUCache<string, number>({ max: size });
  const asking = new Map<string, Promise<void>>();

  async function ask(key: string, clientId: string, applicationId: string | undefined): Promise<void> {
    const askedAt = nowMs();
    try {
      if (applicationId === undefined) await applications.authorizeDeveloper({ clientId });
      else await applications.authorizeApplication({ clientId, applicationId });
      until.set(key, askedAt + keepMs);
    } finally {
      asking.delete(key);
    }
  }

  return async (clientId, applicationId) => {
    const key = JSON.stringify([clientId, applicationId]);
    if ((until.get(key) ?? 0) > nowMs()) return;
    // Concurrent requests that miss the cache share one call.
    let answer = asking.get(key);
    if (!answer) {
      answer = ask(key, clientId, applicationId);
      asking.set(key, answer);
    }
    await answer;
  };
}
