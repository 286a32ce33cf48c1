import type { EventLog, OutgoingEvent } from './types.ts';

/** Maximum bytes of one part: a broker accepts 1 MB at once. The largest event is smaller. */
const mostBytes = 500_000;

/**
 * Publishes in order, in parts that are always small enough for the log. The log would reject a larger part at every
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
    if (part.length > 0 && bytes + byteLength > mostBytes) {
      await log.publish(topic, part);
      part = [];
      bytes = 0;
    }
    part.push(event);
    bytes += byteLength;
  }
  if (part.length > 0) await log.publish(topic, part);
}
