import { boundText, positionOf, startText } from '../domain/feed-position.ts';
import type { FeedStore } from '../ports/feed-store.ts';

/** A part of an application's feed in the order of its positions. */
export interface Part {
  readonly applicationId: string;
  readonly field: 'position' | 'again';
  readonly partition: number;
  /** Only positions before this text. */
  readonly end: string;
}

/**
 * Binary search: returns the position of an event that was received before `beforeMs`, close to the last such event;
 * undefined if there is none. All events up to this position were created before `beforeMs`, if the clocks are correct:
 * an event is created before it is received.
 */
export async function lastBefore(
  store: Pick<FeedStore, 'keys'>,
  { applicationId, field, partition, end }: Part,
  beforeMs: number,
): Promise<string | undefined> {
  const at = async (range: { after: string; before: string; newestFirst?: boolean }) => {
    const [found] = await store.keys({ applicationId, field, limit: 1, ...range });
    return found && { text: found.position, ...positionOf(found.position) };
  };
  const start = startText(partition);
  let low = await at({ after: start, before: end });
  if (!low || low.atMs >= beforeMs) return undefined;
  let high = await at({ after: low.text, before: end, newestFirst: true });
  if (!high) return low.text;
  if (high.atMs < beforeMs) return high.text;
  while (high.epoch !== low.epoch || high.offset > low.offset + 1) {
    const isOneEpoch = high.epoch === low.epoch;
    const offset = isOneEpoch ? low.offset + Math.ceil((high.offset - low.offset) / 2) : 0;
    const middle = boundText(partition, high.epoch, offset);
    const following = await at({ after: middle, before: end });
    if (following && following.atMs < beforeMs) {
      low = following;
      continue;
    }
    const previous = await at({ after: start, before: middle, newestFirst: true });
    if (!previous || previous.atMs < beforeMs) return previous?.text;
    high = previous;
  }
  return low.text;
}
