import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import { timeLeft } from '@headset-cloud/runtime/deadline.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { type IHeaders, type Kafka, type Message, Partitioners, type Producer } from 'kafkajs';
import { checkEvents, unavailable } from './events.ts';
import { waitAtMost } from './kafka-client.ts';
import type { OutgoingEvent } from './types.ts';

/** Limits of one request to the broker: below the broker's default limit of a batch, and enough for full throughput. */
const maxBatchEvents = 2000;
const maxBatchBytes = 900_000;
const retryAfterMs = 100;

/**
 * Maximum number of events of all callers that wait while Kafka is slow or unavailable; further events are rejected at
 * once. Callers wait some seconds at most, and a busy instance publishes about this many in that time.
 */
const maxWaitingEvents = 50_000;
const maxWaitingBytes = 32 * 1024 * 1024;

interface Waiting {
  readonly topic: string;
  /** Events to publish; empty after the caller gave up. */
  messages: Message[];
  readonly bytes: number;
  /** By the monotonic clock. */
  readonly deadlineMs: number;
  readonly timer: Timer;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Publishes through one idempotent producer with at most one outstanding request, because kafkajs reorders or loses
 * messages when requests overlap (rule C4). Events that arrive during a request wait and are sent together. So batches
 * grow with the load, and an idle publisher adds no delay. A failed batch is sent again as a whole, by a new producer,
 * before any newer event. If the queue is full, `publish` rejects at once.
 */
export class KafkaPublisher {
  readonly #kafka: Kafka;
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  readonly #time: Time;
  readonly #queue: Waiting[] = [];
  /** Number of queued or sent events with a waiting caller. */
  #waitingEvents = 0;
  #waitingBytes = 0;
  #producer: Producer | undefined;
  #pumping: Promise<void> | undefined;
  #problem: string | undefined = 'not connected to Kafka yet';
  /** Start of the send in progress, by the monotonic clock. */
  #sendingSinceMs: number | undefined;
  #warned = false;
  #closed = false;

  constructor(kafka: Kafka, logger: Logger, timeoutMs: number, time: Time = systemTime) {
    this.#kafka = kafka;
    this.#logger = logger;
    this.#timeoutMs = timeoutMs;
    this.#time = time;
    this.#startPump();
  }

  notReady(): string | undefined {
    return this.#problem ?? (this.#hangs() ? 'Kafka does not answer' : undefined);
  }

  /** True if a request to Kafka hangs. Ignores callers' deadlines, which say nothing about Kafka. */
  #hangs(): boolean {
    const sinceMs = this.#sendingSinceMs;
    return sinceMs !== undefined && this.#time.monotonicNow() - sinceMs >= this.#timeoutMs;
  }

  publish(topic: string, events: readonly OutgoingEvent[]): Promise<void> {
    if (this.#closed) return Promise.reject(unavailable('the log is closed'));
    try {
      checkEvents(topic, events);
    } catch (error) {
      return Promise.reject(error);
    }
    if (events.length === 0) return Promise.resolve();
    // #take skips events whose caller gave up.
    const timeoutMs = Math.max(0, Math.min(this.#timeoutMs, timeLeft() ?? this.#timeoutMs));
    const bytes = events.reduce((sum, event) => sum + event.value.byteLength + event.key.length + 64, 0);
    if (this.#isFull(events.length, bytes)) {
      return Promise.reject(
        unavailable(`too many events wait for Kafka: ${this.notReady() ?? 'it is slow'}`),
      );
    }
    this.#waitingEvents += events.length;
    this.#waitingBytes += bytes;
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#time.clearTimer(waiting.timer);
        // The caller gave up earlier, and its events no longer count.
        if (waiting.messages.length === 0) return;
        this.#waitingEvents -= waiting.messages.length;
        this.#waitingBytes -= bytes;
        waiting.messages = [];
      };
      const waiting: Waiting = {
        topic,
        messages: events.map(toMessage),
        bytes,
        deadlineMs: this.#time.monotonicNow() + timeoutMs,
        timer: this.#time.setTimeout(() => waiting.reject(this.#timedOut(timeoutMs)), timeoutMs),
        resolve: () => {
          leave();
          resolve();
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      this.#queue.push(waiting);
      this.#startPump();
    });
  }

  /** An empty queue accepts one publish of any size. */
  #isFull(events: number, bytes: number): boolean {
    if (this.#waitingEvents === 0) return false;
    return this.#waitingEvents + events > maxWaitingEvents || this.#waitingBytes + bytes > maxWaitingBytes;
  }

  /** Sends the events with a waiting caller, then disconnects. */
  async close(): Promise<void> {
    this.#closed = true;
    // With nothing to send, do not wait for a running connection attempt.
    if (this.#producer || this.#waitingEvents > 0) await this.#pumping;
    if (this.#producer) await waitAtMost(this.#producer.disconnect(), 2000);
    this.#producer = undefined;
  }

  #timedOut(timeoutMs: number): Error {
    return unavailable(
      `not published within ${Math.round(timeoutMs)} ms: ${this.notReady() ?? 'Kafka is slow'}`,
    );
  }

  #startPump(): void {
    // Starts in the next microtask, so that events published in one event loop iteration are sent together.
    this.#pumping ??= Promise.resolve()
      .then(() => this.#pump())
      .finally(() => {
        this.#pumping = undefined;
        if (this.#queue.length > 0) this.#startPump();
      });
  }

  async #pump(): Promise<void> {
    do {
      for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
        this.#sendingSinceMs = this.#time.monotonicNow();
        const failure = await this.#send(batch);
        this.#sendingSinceMs = undefined;
        for (const waiting of batch) {
          if (failure === undefined) waiting.resolve();
          else waiting.reject(failure);
        }
      }
      // Connects even with nothing to send, so that readiness shows whether Kafka is available.
      if (!this.#producer) await this.#tryConnect();
    } while (this.#queue.length > 0);
  }

  /** Takes the first events of the queue, without those of callers that gave up. */
  #take(): Waiting[] {
    const batch: Waiting[] = [];
    const now = this.#time.monotonicNow();
    let events = 0;
    let bytes = 0;
    let taken = 0;
    for (const waiting of this.#queue) {
      const expired = waiting.messages.length === 0 || waiting.deadlineMs <= now;
      if (!expired) {
        events += waiting.messages.length;
        bytes += waiting.bytes;
        if (batch.length > 0 && (events > maxBatchEvents || bytes > maxBatchBytes)) break;
        batch.push(waiting);
      }
      taken += 1;
    }
    this.#queue.splice(0, taken);
    return batch;
  }

  /** Sends the batch until it is stored, or until no caller waits any more. Returns the last failure, if any. */
  async #send(batch: readonly Waiting[]): Promise<Error | undefined> {
    const byTopic = new Map<string, Message[]>();
    for (const { topic, messages } of batch) {
      const list = byTopic.get(topic);
      if (list) for (const message of messages) list.push(message);
      else byTopic.set(topic, [...messages]);
    }
    const topicMessages = [...byTopic].map(([topic, messages]) => ({ topic, messages }));
    const deadlineMs = Math.max(...batch.map((waiting) => waiting.deadlineMs));
    for (;;) {
      try {
        this.#producer ??= await this.#connect();
        await this.#producer.sendBatch({ topicMessages, acks: -1, timeout: 5000 });
        this.#recovered();
        return undefined;
      } catch (error) {
        this.#failed(error);
        if (this.#time.monotonicNow() + retryAfterMs >= deadlineMs)
          return unavailable(`Kafka: ${this.#problem}`, error);
        await this.#time.sleep(retryAfterMs);
      }
    }
  }

  async #connect(): Promise<Producer> {
    const producer = this.#kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
      metadataMaxAge: 60_000,
      retry: { initialRetryTime: 50, maxRetryTime: 500, multiplier: 2, factor: 0.2, retries: 8 },
    });
    try {
      await producer.connect();
      return producer;
    } catch (error) {
      void waitAtMost(producer.disconnect(), 0);
      throw error;
    }
  }

  /** Tries to connect while the queue is empty. */
  async #tryConnect(): Promise<void> {
    while (!this.#producer && this.#queue.length === 0 && !this.#closed) {
      try {
        this.#producer = await this.#connect();
        this.#recovered();
      } catch (error) {
        this.#failed(error);
        await this.#time.sleep(retryAfterMs);
      }
    }
  }

  #recovered(): void {
    this.#problem = undefined;
    this.#warned = false;
  }

  /** Replaces the producer: after a final error its sequence numbers are uncertain. */
  #failed(error: unknown): void {
    const producer = this.#producer;
    this.#producer = undefined;
    if (producer) void waitAtMost(producer.disconnect(), 0);
    // One warning per outage, not one per try.
    this.#logger[this.#warned ? 'debug' : 'warn']({ err: error }, 'Kafka does not accept events');
    this.#warned = true;
    this.#problem = error instanceof Error ? error.message : String(error);
  }
}

function toMessage(event: OutgoingEvent): Message {
  const { value } = event;
  const message: Message = {
    key: event.key,
    value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
  };
  if (event.headers) message.headers = event.headers as IHeaders;
  return message;
}
