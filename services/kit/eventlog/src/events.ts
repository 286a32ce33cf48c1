import { errorText } from '@headset-cloud/runtime/error-text.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { LogEvent, OutgoingEvent } from './types.ts';

/** Maximum bytes of one event's key and value together; both adapters reject larger events. */
export const maxEventBytes = 2 * 1024 * 1024;

/** Throws DomainError('body_too_large') when an event can never be stored. */
export function checkEvents(topic: string, events: readonly OutgoingEvent[]): void {
  for (const event of events) {
    if (Buffer.byteLength(event.key) + event.value.byteLength > maxEventBytes) {
      throw new DomainError('body_too_large', `An event for ${topic} is larger than ${maxEventBytes} bytes.`);
    }
  }
}

/** Converts an event to its dead letter: the same key, value and headers, with the reason in additional headers. */
export function deadLetterOf(event: LogEvent, group: string, error: unknown): OutgoingEvent {
  return {
    key: event.key,
    value: event.value,
    headers: {
      ...event.headers,
      'dead-group': group,
      'dead-error': errorText(error),
      'dead-position': `${event.topic}/${event.position}`,
    },
  };
}

/** Error of `publish` if the log cannot be reached or cannot store. */
export function unavailable(message: string, cause?: unknown): DomainError {
  return new DomainError('unavailable', 'The event log is not available.', {
    internal: message,
    cause,
    retryAfterMs: 1000,
  });
}
