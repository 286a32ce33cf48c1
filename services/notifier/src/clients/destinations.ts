import { ApplicationsService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { type Channel, createClient } from '@headset-cloud/rpc/types.ts';
import { untilDeadline, withoutDeadline } from '@headset-cloud/runtime/deadline.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { DestinationAddress } from '../ports/destination-address.ts';
import type { Destinations } from '../ports/destinations.ts';

const deadlineMs = 3000;

/**
 * Reads addresses and keys from devices for each attempt, because the old key is invalid as soon as a new key was
 * issued (rules A6, A18). A read serves the callers that came before it began. One destination has one read at a time.
 * Callers that come during a read share the next read, and each waits until its own deadline.
 */
export function createDestinations(channel: Channel): Destinations {
  const applications = createClient(ApplicationsService, channel, { deadlineMs });
  const inProgress = new Map<string, Promise<unknown>>();
  const next = new Map<string, Promise<DestinationAddress | undefined>>();

  const read: Destinations['get'] = async (applicationId, setting) => {
    try {
      const { url, authenticationKey } = await applications.getDestination({ applicationId, setting });
      if (url === '' || authenticationKey === '' || !URL.canParse(url)) return undefined;
      return { url: new URL(url), authenticationKey };
    } catch (error) {
      // A removed application has no destination either.
      if (error instanceof DomainError && error.code === 'not_found') return undefined;
      throw error;
    }
  };

  const readNext = async (key: string, begin: () => Promise<DestinationAddress | undefined>) => {
    await inProgress.get(key)?.catch(() => {});
    // Collects all callers of this tick of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    next.delete(key);
    const reading = begin();
    inProgress.set(key, reading);
    try {
      return await reading;
    } finally {
      if (inProgress.get(key) === reading) inProgress.delete(key);
    }
  };

  return {
    get(applicationId, setting) {
      const key = `${applicationId}/${setting}`;
      let waiting = next.get(key);
      if (!waiting) {
        waiting = withoutDeadline(() => readNext(key, () => read(applicationId, setting)));
        next.set(key, waiting);
      }
      return untilDeadline(waiting);
    },
  };
}
