/** Position of a callback in the feed of its application (ADR 0053). */
export interface FeedPosition {
  readonly partition: number;
  /** Creation time of the partition's topic; seconds since 1970. */
  readonly epoch: number;
  readonly offset: number;
  /** Time when the callback got this position; milliseconds since 1970. */
  readonly atMs: number;
}

/**
 * Partition of an application's own stream (feed/own-stream.ts): notices, resends and replayed dead letters, which have
 * no event of their own in the log.
 */
export const ownPartition = 36 ** 3 - 1;

const [partitionWidth, epochWidth, offsetWidth, timeWidth] = [3, 7, 9, 9];
const epochEnd = partitionWidth + epochWidth;
const offsetEnd = epochEnd + offsetWidth;

const digits = (value: number, width: number) => value.toString(36).padStart(width, '0');

/** Text of a position. Texts sort like their parts, partition first. */
export function positionText({ partition, epoch, offset, atMs }: FeedPosition): string {
  return boundText(partition, epoch, offset) + digits(atMs, timeWidth);
}

/**
 * Text that sorts after all positions with a lower offset, and before all positions with this offset or a higher one.
 */
export function boundText(partition: number, epoch: number, offset: number): string {
  return startText(partition) + digits(epoch, epochWidth) + digits(offset, offsetWidth);
}

/** Text that sorts before all positions of a partition. */
export function startText(partition: number): string {
  return digits(partition, partitionWidth);
}

/** Parses a position, or a bound, which has time 0. */
export function positionOf(text: string): FeedPosition {
  return {
    partition: Number.parseInt(text.slice(0, partitionWidth), 36),
    epoch: Number.parseInt(text.slice(partitionWidth, epochEnd), 36),
    offset: Number.parseInt(text.slice(epochEnd, offsetEnd), 36),
    atMs: Number.parseInt(text.slice(offsetEnd) || '0', 36),
  };
}
