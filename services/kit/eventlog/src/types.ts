import type { Settle } from '@headset-cloud/store/types.ts';

/** One event to publish: bytes with a key. Events with the same key keep their order. */
export interface OutgoingEvent {
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One consumed event. `position` is unique in the topic and rises within a key. */
export interface LogEvent {
  readonly topic: string;
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** partition:offset, for logs and dead letters. */
  readonly position: string;
  /** When it was published, milliseconds since 1970. */
  readonly timestampMs: number;
  /** True: a replayed dead letter. Absent: the event is delivered in the order of its partition. */
  readonly replayed?: true;
}

/** Partition and offset of an event. */
export function partitionAndOffset({ position }: Pick<LogEvent, 'position'>): {
  readonly partition: number;
  readonly offset: number;
} {
  const [partition = 0, offset = 0] = position.split(':').map(Number);
  return { partition, offset };
}

/** Writes of a handler that continue after the handler has resolved. */
export interface Unsettled {
  /** Resolves when all these writes are durable. Never rejects. */
  readonly durable: Promise<void>;
  /**
   * Starts to store the remaining writes now. Called if too many are unsettled, or if another member may get the
   * events.
   */
  hurry(): void;
}

/** The batch that a handler is called with. */
export interface Batch {
  /**
   * True while no other member can have the batch's partition. Kafka: the last heartbeat that was answered
   * was sent less than half the session time-out ago, and no rebalance has begun since.
   */
  held(): boolean;
  /** Resolves when the events are durable. Only events of the embedded log may not be durable yet, see `handle`. */
  durable(): Promise<void>;
  /** Delays the move of the group's offset past the batch until these writes are durable. */
  settlesWith(unsettled: Unsettled): void;
}

export interface Subscription {
  readonly topic: string;
  /** Members of one group share the topic's events; each group sees all. */
  readonly group: string;
  /**
   * Handles a batch, in order of each key. Resolves when all its writes have resolved, except those passed to
   * `batch.settlesWith`. The group's offset moves past the batch when those writes have resolved, too.
   *
   * The embedded log may deliver an event before it is durable. A durable write of the handler makes the event durable,
   * too (ADR 0012). So the effect of an event must not leave the platform before such a write or `batch.durable`.
   *
   * Errors:
   *  - a transient error (kit/errors.ts isTransient) or a NewerVersionError: the batch is retried without end;
   *  - a PoisonEventError: the named event becomes a dead letter, and the rest is retried;
   *  - any other error: the batch is retried a few times, then event by event. A single event that still fails becomes a
   *    dead letter.
   *
   * A crash or a rebalance may deliver handled events again, so the handler must be idempotent.
   */
  handle(events: readonly LogEvent[], batch: Batch): Promise<void>;
  /** Maximum number of events in a batch; default 500. */
  readonly maxBatch?: number;
  /**
   * Stores an event that cannot be handled; resolves when it is durable, and is retried until then.
   * Services get the implementation of dead-letters/log.ts. Default: the topic's dead letters
   * (deadLetterTopic).
   */
  readonly storeDeadLetter?: (event: LogEvent, error: unknown) => Promise<void>;
}

/** Thrown by a handler: this event can never be handled. */
export class PoisonEventError extends Error {
  override readonly name: string = 'PoisonEventError';
  readonly event: LogEvent;
  constructor(event: LogEvent, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.event = event;
  }
}

/**
 * Thrown by a handler: the event has content that only a newer version of this service knows. The partition waits
 * until that version runs (ADR 0020).
 */
export class NewerVersionError extends Error {
  override readonly name = 'NewerVersionError';
}

/** Runs until closed. */
export interface RunningSubscription {
  /** Undefined while consuming; otherwise the reason (not joined yet, broker unavailable). */
  notReady(): string | undefined;
  /** Stops taking batches, waits for the current one, releases the partitions. */
  close(): Promise<void>;
}

/** The event log: Kafka, or the embedded one (rules C4 and C5). */
export interface EventLog {
  /** Creates missing topics (and their dead-letter topics); idempotent. */
  ensureTopics(topics: readonly string[]): Promise<void>;
  /**
   * Publishes in the given order. Resolves when the events are durable on the log (acks=all); on the embedded log,
   * `settle` may select an earlier time (`Settle` in store/types.ts). Concurrent calls share a batch. Rejects with a
   * transient DomainError('unavailable') if the log is unavailable for longer than its time limit (default 10 s). Then
   * it is unknown whether the events are stored.
   */
  publish(
    topic: string,
    events: readonly OutgoingEvent[],
    options?: { readonly settle?: Settle },
  ): Promise<void>;
  subscribe(subscription: Subscription): Promise<RunningSubscription>;
  /** Up to `limit` newest events of a topic, oldest first; for operators (dead letters). */
  readNewest(topic: string, limit: number): Promise<LogEvent[]>;
  /** The group's lag on a topic: events that it has not handled yet; for metrics. */
  lag(group: string, topic: string): Promise<number>;
  /**
   * By partition: the offset before which the group has handled every event durably. The offset only rises, unless the
   * topic is created again or an operator resets the group. A partition without an entry has no committed offset.
   */
  committed(group: string, topic: string): Promise<ReadonlyMap<number, number>>;
  /**
   * An unused group, which has no subscription, prevents the deletion of events that it has not handled. Returns the
   * time since the last subscription of the group unused longest; 0: no unused group prevents deletion. For metrics.
   * Absent: groups do not prevent deletion (Kafka).
   */
  unusedGroupAgeMs?(): number;
  notReady(): string | undefined;
  close(): Promise<void>;
}

/** Name of a topic's dead letters. Headers: dead-group, dead-error, dead-position. */
export function deadLetterTopic(topic: string): string {
  return `${topic}.dead`;
}

/** The platform's topics; all keyed by device id (application id if no device is known). */
export const topics = {
  /** Headsets' reports about transactions. */
  transactionReports: 'transaction-reports',
  /** Headsets' reports about themselves. */
  deviceReports: 'device-reports',
  notifications: 'notifications',
  deviceLifecycle: 'device-lifecycle',
  usage: 'usage',
  /** Records of operators' and integrators' changes; keyed by application, device or developer. */
  audit: 'audit',
} as const;
