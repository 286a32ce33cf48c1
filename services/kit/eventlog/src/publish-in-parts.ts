import type { EventLog, OutgoingEvent } from './types.ts';

/** Maximum bytes of a part with several events, below a broker's limit of a request. A larger event is a part alone. */
const maxBytes = 500_000;

/**
 * Publishes events in order, in parts that are small enough for the log. The log would reject a larger part at every
 * attempt.
 */
export async function publishInParts(
  log: Pick<EventLog, 'publish'>,
  topic: string,
  events: readonly OutgoingEvent[],
): Promise<void> {
  let part: OutgoingEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const { byteLength } = event.value;
    if (part.length > 0 && bytes + byteLength > maxBytes) {
      await log.publish(topic, part);
      part = [];
      bytes = 0;
    }
    part.push(event);
    bytes += byteLength;
  }
  if (part.length > 0) await log.publish(topic, part);
}
