/** A stored webhook. */
export interface StoredEvent {
  readonly key: string;
  readonly endpointId: string;
  readonly channelId: string;
  /** Empty if the channel is not known. */
  readonly applicationId: string;
  readonly seq: number;
  readonly arrivedAtMs: number;
  /** Creation time of the channel. Absent: the channel is not known, or release 0.1.0 stored the event. */
  readonly channelCreatedAtMs?: number;
  readonly body: string;
  /** The webhook's trace, as a W3C traceparent; empty if there is none. */
  readonly traceparent: string;
}

export interface EventStore {
  /** True if the event is stored. */
  known(key: string): Promise<boolean>;
  /** Returns false if the event exists already. With `dueAtMs`, the sweeper processes the event from that time on. */
  insert(event: StoredEvent, dueAtMs: number | undefined): Promise<boolean>;
  /** Marks the event as applied and published. */
  done(key: string): Promise<void>;
  /** Unfinished events of the channel before `seq` and not before `fromSeq`, in their order. */
  undoneBefore(channelId: string, seq: number, fromSeq?: number): Promise<StoredEvent[]>;
  /** Claims due events for one instance until `untilMs`, in the order of their channels. */
  claimDue(nowMs: number, untilMs: number, limit: number): Promise<StoredEvent[]>;
  /** Makes events due now whose due time is after `latestMs`: a wrong clock wrote it. */
  resetFutureDueTimes(latestMs: number, nowMs: number): Promise<void>;
}
