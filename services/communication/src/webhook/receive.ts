import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { emptiedBody, eventKey, isObject, readSoraEvent } from '../domain/sora-event.ts';
import type { EventProcessor } from '../events/processor.ts';
import type { ChannelStore } from '../ports/channel-store.ts';
import type { EndpointStore } from '../ports/endpoint-store.ts';
import type { EventStore } from '../ports/event-store.ts';

/**
 * Outcome of a webhook. `unknown_channel`: the event is stored and not forwarded. If the application's data was
 * removed, the event is stored without its content.
 */
export type Receipt = 'stored' | 'repeated' | 'unknown_channel' | 'malformed';

/** Receives Sora's webhooks. Each webhook is stored before the response, then applied and published once. */
export interface Receiver {
  /** True if the token is correct. Compares in constant time. An unknown endpoint takes as long as a known endpoint. */
  authenticate(endpointId: string, token: string): Promise<boolean>;
  /**
   * Stores a webhook and starts its processing. Rejects while the database is unavailable. `traceparent`: the webhook's
   * trace; empty if there is none.
   */
  receive(endpointId: string, body: Buffer, traceparent: string): Promise<Receipt>;
}

export function createReceiver(deps: {
  endpoints: EndpointStore;
  channels: ChannelStore;
  events: EventStore;
  processor: Pick<EventProcessor, 'process'>;
  clock: Clock;
  logger: Logger;
  leftoverAfterMs: number;
}): Receiver {
  const { endpoints, channels, events, processor, clock, logger } = deps;
  return {
    async authenticate(endpointId, token) {
      const known = await endpoints.secretHash(endpointId);
      const given = createHash('sha256').update(token).digest();
      const right = timingSafeEqual(given, known ? Buffer.from(known, 'hex') : Buffer.alloc(given.length));
      return right && known !== undefined;
    },

    async receive(endpointId, bytes, traceparent) {
      const arrivedAtMs = clock.now();
      const body = parse(bytes);
      const event = readSoraEvent(body, { arrivedAtMs });
      if (!event || !isObject(body)) return 'malformed';
      const key = eventKey(endpointId, body, event);
      if (await events.known(key)) return 'repeated';
      const { channelId } = event;
      const channel = await channels.nextEvent(channelId, endpointId, arrivedAtMs);
      const { seq = 0, applicationId = '', createdAtMs } = channel ?? {};
      const stored = {
        ...{ key, endpointId, channelId, applicationId, seq, arrivedAtMs, traceparent },
        ...(createdAtMs !== undefined && { channelCreatedAtMs: createdAtMs }),
        body: channel && applicationId === '' ? emptiedBody : bytes.toString('utf8'),
      };
      const dueAtMs = applicationId === '' ? undefined : arrivedAtMs + deps.leftoverAfterMs;
      if (!(await events.insert(stored, dueAtMs))) return 'repeated';
      if (applicationId === '') {
        logger.warn({ endpointId, channelId, type: event.type }, 'Sora event of an unknown channel');
        return 'unknown_channel';
      }
      processor.process(stored);
      return 'stored';
    },
  };
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
