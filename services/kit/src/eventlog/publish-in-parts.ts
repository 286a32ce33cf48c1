import type { EventLog, OutgoingEvent } from './types.ts';

/** Most bytes of one part: a broker accepts 1 MB at once. The largest event is smaller. */
const mostBytes = 500_000;

/**
 * Publishes in order, in parts that are small enough for the log whatever texts they hold, because a part
 * that is too large would be refused for ever.
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
