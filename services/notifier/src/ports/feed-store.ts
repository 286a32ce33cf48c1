import type { Delivery } from '../domain/delivery.ts';

/** A partition of the log, as stored for the feed (ADR 0053). */
export interface FeedPartition {
  readonly partition: number;
  /** Creation time of the topic; seconds since 1970. */
  readonly epoch: number;
  /** The group has committed this offset in this epoch. Readers may have passed earlier events. */
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

/** A delivery that needs a position in the application's own stream. */
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
  /** Every delivery up to `last` has its position; `list` is getting numbers. */
  ownStream(
    applicationId: string,
  ): Promise<{ readonly last: number; readonly list: UnplacedList | undefined }>;
  /** Marked deliveries, in the order of their marks. */
  unplaced(applicationId: string, limit: number): Promise<UnplacedDelivery[]>;
  /** Stores a list, if the last number has not changed and there is no list. */
  begin(applicationId: string, last: number, list: UnplacedList): Promise<void>;
  /** Completes a list; may be repeated. */
  place(applicationId: string, list: UnplacedList): Promise<void>;
}
