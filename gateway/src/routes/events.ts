import { callbackTypes } from '@headset-cloud/proto/callbacks.ts';
import type { Event } from '@headset-cloud/proto/notifier/v1/feed_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { GatewayClients } from '../clients.ts';
import { invalidBody } from '../http/errors.ts';
import { timeOf } from './decode.ts';
import { dateOf } from './encode.ts';
import type { Handlers } from './types.ts';

const known: ReadonlySet<string> = new Set(Object.values(callbackTypes));

/** The types in the query parameter `types`, comma-separated. Throws invalid_argument for an unknown type. */
export function typesOf(list: string | number | undefined): string[] {
  const types = list === undefined ? [] : String(list).split(',');
  const wrong = types.find(isUnknownType);
  if (wrong !== undefined) {
    throw new DomainError(
      'invalid_argument',
      `The query parameter types contains ${wrong}, which is not a type.`,
    );
  }
  return types;
}

/** The types in the field `types` of a body. Throws invalid_body for an unknown type. */
export function typesOfBody(types: readonly string[]): string[] {
  const wrong = types.findIndex(isUnknownType);
  if (wrong !== -1) throw invalidBody(`/types/${wrong}`, `is ${types[wrong]}, which is not a type.`);
  return [...types];
}

const isUnknownType = (type: string): boolean => !known.has(type);

function eventJson({ eventId, type, destination, createdAtMs, deviceId, body, resends }: Event): object {
  return {
    webhookId: eventId,
    ...{ type, destination, createdAt: dateOf(createdAtMs), deviceId: deviceId || null, body },
    ...(resends > 0 && { resend: resends }),
  };
}

/** The event feed. */
export function eventHandlers({ feed }: Pick<GatewayClients, 'feed'>): Handlers {
  return {
    'get-v1-applications-events': async ({ applicationId, query }) => {
      const { after = '', limit, types, deviceId = '', resends } = query;
      const fromMs = timeOf(query, 'from');
      if (after !== '' && fromMs !== undefined) {
        throw new DomainError('invalid_argument', 'Give one of the query parameters after and from.');
      }
      const { events, cursor, more } = await feed.readEvents({
        ...{ applicationId, after: String(after), limit: Number(limit) },
        ...{ types: typesOf(types), deviceId: String(deviceId), withResends: resends === 'true' },
        ...(fromMs !== undefined && { fromMs }),
      });
      return { status: 200, json: { events: events.map(eventJson), cursor, more } };
    },
  };
}
