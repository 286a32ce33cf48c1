import type { Delivery } from '../domain/delivery.ts';

/** A partition of the log, as stored for the feed (ADR 0053). */
export interface FeedPartition {
  readonly partition: number;
  /** Creation time of the topic; seconds since 1970. */
  readonly epoch: number;
  /** An offset that the group has committed in this epoch. Readers may have read all events before it. */
  readonly offset: number;
}

/** A position in an application's feed. */
export interface FeedKey {
  /** Id of the delivery. */
  readonly id: string;
  /** Text of a FeedPosition. */
  readonly position: string;
  /** 0 for its first position; otherwise the number of resends. */
  readonly resends: number;
  /** Time of its creation, or of the resend; milliseconds since 1970. */
  readonly timeMs: number;
}

/** A delivery that needs a position in the application's own stream (feed/own-stream.ts). */
export interface UnplacedDelivery {
  readonly id: string;
  /** Number of resends. */
  readonly resends: number;
  /** True if it already has its first position. */
  readonly isAgain: boolean;
}

/** Deliveries that get consecutive numbers in the application's own stream. */
export interface UnplacedList {
  readonly from: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly entries: readonly UnplacedDelivery[];
}

/** Positions of deliveries in feeds (ADR 0053). */
export interface FeedStore {
  partitions(): Promise<FeedPartition[]>;
  /** Stores a partition if there is none. */
  addPartition(partition: FeedPartition): Promise<void>;
  /** Stores a higher offset, if the epoch has not changed. Returns the stored partition. */
  advance(partition: FeedPartition): Promise<FeedPartition>;
  /** Starts a new epoch with offset 0, if the epoch has not changed. */
  renew(partition: FeedPartition, epoch: number): Promise<void>;
  /** Positions between two texts, in order, at most `limit`. */
  keys(range: {
    readonly applicationId: string;
    /** First positions, or positions of resends. */
    readonly field: 'position' | 'again';
    readonly after: string;
    readonly before: string;
    readonly limit: number;
    readonly newestFirst?: boolean;
  }): Promise<FeedKey[]>;
  deliveries(ids: readonly string[]): Promise<ReadonlyMap<string, Delivery>>;
  /** State of the own stream: all numbers up to `last` are assigned; the deliveries of `list` get the next numbers. */
  ownStream(
    applicationId: string,
  ): Promise<{ readonly last: number; readonly list: UnplacedList | undefined }>;
  /** Deliveries that are marked as without position, in the order in which they were marked. */
  unplaced(applicationId: string, limit: number): Promise<UnplacedDelivery[]>;
  /** Stores a list, if the last number has not changed and there is no list. */
  storeList(applicationId: string, last: number, list: UnplacedList): Promise<void>;
  /** Gives the deliveries of a list their positions, and removes the list; may be repeated. */
  assignPositions(applicationId: string, list: UnplacedList): Promise<void>;
}
