import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { prepareCommand } from '@headset-cloud/store/schema/steps.ts';
import { deadLetterOf, unavailable } from './events.ts';
import { KafkaAdmin } from './kafka-admin.ts';
import { createClient, defaultSessionTimeoutMs, type KafkaOptions } from './kafka-client.ts';
import { KafkaSubscription } from './kafka-consumer.ts';
import { type KafkaNames, kafkaNames } from './kafka-names.ts';
import { KafkaPublisher } from './kafka-publisher.ts';
import {
  deadLetterTopic,
  type EventLog,
  type LogEvent,
  type OutgoingEvent,
  type RunningSubscription,
  type Subscription,
} from './types.ts';

export type { KafkaOptions } from './kafka-client.ts';

const dayMs = 86_400_000;

/**
 * The event log on Kafka, through kafkajs 2.2.4 with workarounds for its known defects (rule C4). Connects in the
 * background; `notReady` reports the state of the connection. `handle` is called concurrently for different partitions,
 * but one call at a time for each partition.
 */
export function connectKafka(options: KafkaOptions): EventLog {
  return new KafkaLog(options);
}

class KafkaLog implements EventLog {
  readonly #options: KafkaOptions;
  readonly #names: KafkaNames;
  readonly #publisher: KafkaPublisher;
  readonly #admin: KafkaAdmin;
  readonly #subscriptions = new Set<KafkaSubscription>();
  #closing: Promise<void> | undefined;

  constructor(options: KafkaOptions) {
    this.#options = options;
    this.#names = kafkaNames(options.prefix);
    this.#publisher = new KafkaPublisher(
      createClient(options),
      options.logger,
      options.publishTimeoutMs ?? 10_000,
    );
    this.#admin = new KafkaAdmin(() => createClient(options), options.logger, this.#names);
  }

  async ensureTopics(topics: readonly string[]): Promise<void> {
    if (this.#options.makeTopics === false) return this.#requireTopics(topics);
    const replicationFactor = this.#options.replicationFactor ?? 3;
    const common = {
      replicationFactor,
      minInsyncReplicas: this.#options.minInsyncReplicas ?? Math.max(1, replicationFactor - 1),
    };
    const { partitions = 8, retentionMs = 7 * dayMs, deadLetterRetentionMs = 30 * dayMs } = this.#options;
    return this.#admin.createTopics(
      topics.flatMap((topic) => [
        { ...common, topic, partitions, retentionMs },
        { ...common, topic: deadLetterTopic(topic), partitions: 1, retentionMs: deadLetterRetentionMs },
      ]),
    );
  }

  /** Throws a transient DomainError, which names the missing topics and how to create them, until all topics exist. */
  async #requireTopics(topics: readonly string[]): Promise<void> {
    const missing = await this.#admin.missing(topics.flatMap((topic) => [topic, deadLetterTopic(topic)]));
    if (missing.length === 0) return;
    throw new DomainError(
      'unavailable',
      `Topics are missing: ${missing.join(', ')}. This makes them: ${prepareCommand} (services/prepare)`,
    );
  }

  publish(topic: string, events: readonly OutgoingEvent[]): Promise<void> {
    return this.#publisher.publish(this.#names.topic(topic), events);
  }

  async subscribe(subscription: Subscription): Promise<RunningSubscription> {
    if (this.#closing) throw unavailable('the log is closed');
    const running = new KafkaSubscription(subscription, {
      // Consumers need more retries: a new cluster takes some seconds to get a coordinator for its first group.
      kafka: createClient(this.#options, 4),
      logger: this.#options.logger,
      names: this.#names,
      sessionTimeoutMs: this.#options.sessionTimeoutMs ?? defaultSessionTimeoutMs,
      concurrency: this.#options.partitions ?? 8,
      onFatal: this.#options.onFatal,
      deadLetter:
        subscription.storeDeadLetter ??
        ((event, error) =>
          this.publish(deadLetterTopic(event.topic), [deadLetterOf(event, subscription.group, error)])),
    });
    this.#subscriptions.add(running);
    return {
      notReady: () => running.notReady(),
      close: async () => {
        await running.close();
        this.#subscriptions.delete(running);
      },
    };
  }

  readNewest(topic: string, limit: number): Promise<LogEvent[]> {
    return this.#admin.readNewest(topic, limit);
  }

  lag(group: string, topic: string): Promise<number> {
    return this.#admin.lag(group, topic);
  }

  committed(group: string, topic: string): Promise<ReadonlyMap<number, number>> {
    return this.#admin.committed(group, topic);
  }

  notReady(): string | undefined {
    return this.#closing ? 'the log is closed' : this.#publisher.notReady();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Consumers close first, because their handlers may still publish events for the current batch.
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
    await Promise.all([this.#publisher.close(), this.#admin.close()]);
  }
}
