import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Consumer, EachBatchPayload, IHeaders, Kafka, KafkaMessage } from 'kafkajs';
import { BatchSize } from './batch-size.ts';
import { isKafkaUnavailable, waitAtMost } from './kafka-client.ts';
import type { KafkaNames } from './kafka-names.ts';
import { deliver } from './runtime.ts';
import { Settling } from './settling.ts';
import type { LogEvent, RunningSubscription, Subscription } from './types.ts';

/** Parts of the event log that a subscription uses. */
export interface ConsumerOptions {
  readonly kafka: Kafka;
  readonly logger: Logger;
  readonly names: KafkaNames;
  readonly sessionTimeoutMs: number;
  /** Partitions that are handled at the same time. */
  readonly concurrency: number;
  readonly deadLetter: (event: LogEvent, error: unknown) => Promise<void>;
  readonly onFatal: (error: Error) => void;
}

const defaultMaxBatch = 500;
/** Interval of offset commits, which run concurrently with the handling. */
const commitIntervalMs = 250;
/** Time that a fetch waits on an idle topic. Joins, commits and heartbeats on the connection wait for the fetch. */
const maxWaitMs = 250;
/** How long a rejoin or an outage may last before the subscription reports not ready; milliseconds. */
const graceMs = 10_000;
/** Time that a close waits until handled events are stored; events that are not stored are delivered again. */
const settleMs = 1000;

/** One member of a consumer group on one topic. */
export class KafkaSubscription implements RunningSubscription {
  readonly #subscription: Subscription;
  readonly #options: ConsumerOptions;
  readonly #closing = new AbortController();
  #started: Promise<void>;
  #consumer: Consumer | undefined;
  #reason: string | undefined = 'has not joined its consumer group yet';
  #rejoiningSinceMs: number | undefined;
  #lastAnswerMs = Date.now();
  /** Time of the last confirmation by the coordinator that this consumer is a member; by `performance.now()`. */
  #confirmedAtMs = Number.NEGATIVE_INFINITY;
  /** Number of events after which the partitions may have other owners. */
  #generation = 0;
  /** Number of batches that are being handled. */
  #runningBatches = 0;
  readonly #batchSize: BatchSize;
  /** Handled events whose writes are not durable yet, by partition. */
  readonly #settling = new Map<number, Settling<string>>();
  /** The offset to commit, by partition. */
  readonly #offsetsToCommit = new Map<number, string>();
  #commit: EachBatchPayload['commitOffsetsIfNecessary'] | undefined;
  #commitTimer: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;

  constructor(subscription: Subscription, options: ConsumerOptions) {
    this.#subscription = subscription;
    this.#options = options;
    this.#batchSize = new BatchSize(subscription.maxBatch ?? defaultMaxBatch);
    this.#started = this.#start();
  }

  notReady(): string | undefined {
    if (this.#reason) return this.#reason;
    const now = Date.now();
    if (this.#rejoiningSinceMs !== undefined && now - this.#rejoiningSinceMs > graceMs) {
      return 'cannot join its consumer group again';
    }
    if (this.#runningBatches === 0 && now - this.#lastAnswerMs > graceMs) {
      return `no answer from Kafka for ${Math.round((now - this.#lastAnswerMs) / 1000)} s`;
    }
    return undefined;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#reason = 'the subscription is closed';
    await this.#started;
    const consumer = this.#consumer;
    if (!consumer) return;
    // stop() waits for the running batches, each of which commits at its end, and leaves the group.
    await this.#finish();
    await consumer.stop().catch(() => {});
    clearTimeout(this.#commitTimer);
    await waitAtMost(consumer.disconnect(), 2000);
  }

  /** Connects and starts to consume, retrying until it succeeds. Later failures are reported by the crash event. */
  async #start(): Promise<void> {
    const { signal } = this.#closing;
    for (let waitMs = 100; !signal.aborted; waitMs = Math.min(waitMs * 2, 5000)) {
      const consumer = this.#create();
      try {
        await consumer.connect();
        await consumer.subscribe({
          topics: [this.#options.names.topic(this.#subscription.topic)],
          fromBeginning: true,
        });
        await consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          partitionsConsumedConcurrently: this.#options.concurrency,
          eachBatch: (payload) => this.#eachBatch(payload),
        });
        this.#consumer = consumer;
        return;
      } catch (error) {
        void waitAtMost(consumer.disconnect(), 0);
        if (signal.aborted) return;
        this.#reason = `cannot consume: ${(error as Error).message}`;
        this.#options.logger.warn({ ...this.#names(), err: error }, 'cannot consume yet, trying again');
        await this.#pause(waitMs);
      }
    }
  }

  #create(): Consumer {
    const { group, topic } = this.#subscription;
    const { kafka, names, sessionTimeoutMs } = this.#options;
    const consumer = kafka.consumer({
      groupId: names.group(group, topic),
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: Math.min(1000, Math.floor(sessionTimeoutMs / 4)),
      rebalanceTimeout: 30_000,
      maxWaitTimeInMs: maxWaitMs,
      minBytes: 1,
      allowAutoTopicCreation: false,
      metadataMaxAge: 60_000,
      retry: {
        initialRetryTime: 100,
        maxRetryTime: 2000,
        multiplier: 2,
        factor: 0.2,
        retries: 5,
        restartOnFailure: async () => !this.#closing.signal.aborted,
      },
    });
    const { events } = consumer;
    consumer.on(events.GROUP_JOIN, () => {
      this.#lastAnswerMs = Date.now();
      this.#rejoiningSinceMs = undefined;
      this.#forgetPartitions();
      // The join does not confirm the membership: this process may have been paused after the broker's answer. The
      // first heartbeat confirms it.
      this.#confirmedAtMs = Number.NEGATIVE_INFINITY;
      if (!this.#closing.signal.aborted) this.#reason = undefined;
    });
    // A heartbeat confirms the membership at the time when it was sent. Its answer may have waited while this process
    // was paused.
    let tookMs = 0;
    consumer.on(events.REQUEST, ({ payload }) => {
      if (payload.apiName === 'Heartbeat') tookMs = Math.max(0, payload.duration);
    });
    consumer.on(events.HEARTBEAT, () => {
      this.#confirmedAtMs = performance.now() - tookMs;
    });
    consumer.on(events.REBALANCING, () => {
      this.#rejoiningSinceMs = Date.now();
      this.#generation += 1;
      for (const settling of this.#settling.values()) settling.hurry();
    });
    consumer.on(events.FETCH, () => {
      this.#lastAnswerMs = Date.now();
    });
    consumer.on(events.CRASH, ({ payload }) => this.#crashed(payload.error, payload.restart));
    return consumer;
  }

  #crashed(error: Error, restarts: boolean): void {
    if (this.#closing.signal.aborted) return;
    this.#reason = `the consumer failed: ${error.message}`;
    const unavailable = isKafkaUnavailable(error);
    if (restarts || unavailable) {
      this.#options.logger.warn({ ...this.#names(), err: error }, 'the consumer failed, restarting');
      // kafkajs gives up when it cannot find a coordinator; an outage must not end the process.
      if (!restarts) this.#started = this.#started.then(() => this.#pause(1000)).then(() => this.#start());
      return;
    }
    this.#options.logger.fatal({ ...this.#names(), err: error }, 'the consumer failed permanently');
    this.#options.onFatal(error);
  }

  /**
   * Handles a batch. Never rejects, because an error would restart the whole consumer. Unhandled events are fetched
   * again.
   */
  async #eachBatch(payload: EachBatchPayload): Promise<void> {
    this.#runningBatches += 1;
    try {
      await this.#deliver(payload);
      await payload.heartbeat();
    } catch (error) {
      // The group is rebalancing, or the coordinator is unavailable. kafkajs detects both itself right afterwards.
      this.#options.logger.debug({ ...this.#names(), err: error }, 'no heartbeat after a batch');
      await this.#commitNow();
    } finally {
      this.#runningBatches -= 1;
      this.#lastAnswerMs = Date.now();
    }
    if (this.#closing.signal.aborted || !payload.isRunning()) await this.#finish();
  }

  /**
   * Forgets the unsettled events of all partitions. They are delivered again, and the new owner of their partition
   * commits them.
   */
  #forgetPartitions(): void {
    this.#generation += 1;
    for (const settling of this.#settling.values()) settling.forget();
    this.#settling.clear();
    this.#offsetsToCommit.clear();
  }

  async #deliver(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const { group, topic } = this.#subscription;
    const { signal } = this.#closing;
    this.#commit = payload.commitOffsetsIfNecessary;
    const generation = this.#generation;
    const settling = this.#settlingOf(batch.partition);
    let handled = 0;
    for (let at = 0, count = 0; at < batch.messages.length; at += count) {
      if (signal.aborted || !payload.isRunning() || payload.isStale()) return;
      const messages = batch.messages.slice(at, at + this.#batchSize.current);
      count = messages.length;
      const beganMs = performance.now();
      const finished = await deliver(
        messages.map((message) => toLogEvent(topic, batch.partition, message)),
        {
          group,
          handle: (events, of) => this.#subscription.handle(events, of),
          held: () => this.#holds(generation),
          deadLetter: this.#options.deadLetter,
          heartbeat: payload.heartbeat,
          logger: this.#options.logger,
          signal,
          onHandled: (upTo, unsettled) => {
            // Another member may own the partition: do not commit. The events are delivered again to the new owner.
            if (generation !== this.#generation) return;
            const { offset } = messages[upTo - 1] as KafkaMessage;
            payload.resolveOffset(offset);
            settling.add(String(BigInt(offset) + 1n), at + upTo - handled, unsettled);
            handled = at + upTo;
          },
        },
      );
      this.#batchSize.adapt(count, performance.now() - beganMs);
      if (!finished) return;
      while (settling.full && generation === this.#generation && !signal.aborted) {
        settling.hurry();
        await settling.progress(1000);
        await payload.heartbeat();
      }
    }
  }

  #settlingOf(partition: number): Settling<string> {
    let settling = this.#settling.get(partition);
    if (!settling) {
      settling = new Settling((offset) => {
        this.#offsetsToCommit.set(partition, offset);
        this.#commitLater();
      });
      this.#settling.set(partition, settling);
    }
    return settling;
  }

  /** True if the partitions of this generation certainly still belong to this member. */
  #holds(generation: number): boolean {
    const fresh = performance.now() - this.#confirmedAtMs < this.#options.sessionTimeoutMs / 2;
    return fresh && generation === this.#generation && !this.#closing.signal.aborted;
  }

  /** Waits a short time until handled events are stored, then commits. */
  async #finish(): Promise<void> {
    await Promise.all([...this.#settling.values()].map((settling) => settling.finish(settleMs)));
    await this.#commitNow();
  }

  #commitLater(): void {
    this.#commitTimer ??= setTimeout(() => void this.#commitNow(), commitIntervalMs);
  }

  /**
   * Commits the offsets of settled events. After a failure, commits them later; if that is too late, the events are
   * delivered again.
   */
  async #commitNow(): Promise<void> {
    clearTimeout(this.#commitTimer);
    this.#commitTimer = undefined;
    const { topic } = this.#subscription;
    const partitions = [...this.#offsetsToCommit].map(([partition, offset]) => ({ partition, offset }));
    if (partitions.length === 0) return;
    try {
      await this.#commit?.({ topics: [{ topic: this.#options.names.topic(topic), partitions }] });
      for (const { partition, offset } of partitions) {
        if (this.#offsetsToCommit.get(partition) === offset) this.#offsetsToCommit.delete(partition);
      }
    } catch (error) {
      this.#options.logger.debug({ ...this.#names(), err: error }, 'offsets were not committed');
      if (!this.#closing.signal.aborted) this.#commitLater();
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#closing.signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#closing.signal.addEventListener('abort', done);
    });
  }

  #names(): { topic: string; group: string } {
    return { topic: this.#subscription.topic, group: this.#subscription.group };
  }
}

/** Converts a Kafka message to an event. `topic`: its name without the prefix. */
export function toLogEvent(topic: string, partition: number, message: KafkaMessage): LogEvent {
  return {
    topic,
    key: message.key?.toString('utf8') ?? '',
    value: message.value ?? new Uint8Array(),
    headers: toHeaders(message.headers),
    position: `${partition}:${message.offset}`,
    timestampMs: Number(message.timestamp),
  };
}

function toHeaders(headers: IHeaders | undefined): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) result[name] = first.toString();
  }
  return result;
}
