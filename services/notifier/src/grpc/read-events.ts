import type { FeedService } from '@headset-cloud/proto/notifier/v1/feed_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Feed } from '../feed/feed.ts';

const defaultLimit = 100;
const maxLimit = 1000;

/** The events of an application after a cursor, for the gateway. */
export function readEvents(feed: Pick<Feed, 'read'>): Handlers<typeof FeedService>['readEvents'] {
  return async ({ applicationId, after, fromMs, limit, types, deviceId, withResends }) => {
    if (applicationId === '') throw new DomainError('invalid_argument', 'application_id is missing.');
    if (after !== '' && fromMs !== undefined) {
      throw new DomainError('invalid_argument', 'after and from_ms are given together.');
    }
    if (limit > maxLimit) throw new DomainError('invalid_argument', `limit is greater than ${maxLimit}.`);
    const { events, cursor, more } = await feed.read({
      ...{ applicationId, after: after || undefined, limit: limit || defaultLimit },
      ...{ fromMs: fromMs === undefined ? undefined : Number(fromMs), withResends },
      filter: { types, deviceId },
    });
    return {
      events: events.map(({ delivery, type, deviceId: device, resends }) => ({
        ...{ eventId: delivery.id, type, destination: delivery.destination, deviceId: device, resends },
        ...{ createdAtMs: BigInt(delivery.createdAtMs), body: delivery.body.toString('utf8') },
      })),
      cursor,
      more,
    };
  };
}
