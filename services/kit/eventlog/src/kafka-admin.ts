import { randomUUID } from 'node:crypto';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Admin, Kafka } from 'kafkajs';
import { maxEventBytes, unavailable } from './events.ts';
import { waitAtMost } from './kafka-client.ts';
import { toLogEvent } from './kafka-consumer.ts';
import type { KafkaNames } from './kafka-names.ts';
import type { LogEvent } from './types.ts';

/** One topic to be created. */
export interface TopicSettings {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly minInsyncReplicas: number;
  readonly retentionMs: number;
}

/** Time limit for an operation; milliseconds. */
const timeoutMs = 15_000;
/** Time that brokers may need to agree about a topic that was just created or moved; milliseconds. */
const settlingMs = 5000;
const settlingErrors = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'NOT_CONTROLLER',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_LOAD_IN_PROGRESS',
]);

/** Creates and inspects topics over one connection, which opens on first use. Topic names are without the prefix. */
export class KafkaAdmin {
  /** Creates a separate client for each consumer (see createClient). */
  readonly #createClient: () => Kafka;
  readonly #logger: Logger;
  readonly #names: KafkaNames;
  #admin: Promise<Admin> | undefined;

  constructor(createClient: () => Kafka, logger: Logger, names: KafkaNames) {
    this.#createClient = createClient;
    this.#logger = logger;
    this.#names = names;
  }

  /** Returns the missing topics, by their names on the broker. */
  missing(topics: readonly string[]): Promise<string[]> {
    return this.#use(async (admin) => {
      const existing = new Set(await admin.listTopics());
      return topics.map((topic) => this.#names.topic(topic)).filter((topic) => !existing.has(topic));
    });
  }

  /** Creates missing topics; existing ones stay unchanged. */
  async createTopics(settings: readonly TopicSettings[]): Promise<void> {
    const wanted = settings.map((each) => ({ ...each, topic: this.#names.topic(each.topic) }));
    await this.#use(async (admin) => {
      const existing = new Set(await admin.listTopics());
      const missing = wanted.filter(({ topic }) => !existing.has(topic));
      if (missing.length === 0) return;
      const made = admin.createTopics({
        timeout: 10_000,
        // kafkajs would fail if a broker does not know the new topic yet; `waitForLeaders` waits instead.
        waitForLeaders: false,
        topics: missing.map((t) => ({
          topic: t.topic,
          numPartitions: t.partitions,
          replicationFactor: t.replicationFactor,
          configEntries: [
            { name: 'min.insync.replicas', value: String(t.minInsyncReplicas) },
            { name: 'retention.ms', value: String(t.retentionMs) },
            { name: 'max.message.bytes', value: String(maxEventBytes + 64 * 1024) },
          ],
        })),
      });
      await made.catch((error: unknown) => throwCause(admin, error, missing));
      await waitForLeaders(
        admin,
        missing.map(({ topic }) => topic),
      );
    });
  }

  /** Events that a group has not handled yet, summed over the partitions. */
  lag(group: string, topic: string): Promise<number> {
    return this.#use(async (admin) => {
      const [offsets, committed] = await Promise.all([
        admin.fetchTopicOffsets(this.#names.topic(topic)),
        this.#committed(admin, group, topic),
      ]);
      return offsets.reduce((sum, { partition, high, low }) => {
        return sum + Number(high) - Math.max(committed.get(partition) ?? -1, Number(low));
      }, 0);
    });
  }

  /** The offsets that a group has committed, by partition. */
  committed(group: string, topic: string): Promise<ReadonlyMap<number, number>> {
    return this.#use((admin) => this.#committed(admin, group, topic));
  }

  async #committed(admin: Admin, group: string, topic: string): Promise<ReadonlyMap<number, number>> {
    const [found] = await admin.fetchOffsets({
      groupId: this.#names.group(group, topic),
      topics: [this.#names.topic(topic)],
    });
    // The offset -1 means that nothing is committed.
    const offsets = (found?.partitions ?? []).map((p) => [p.partition, Number(p.offset)] as const);
    return new Map(offsets.filter(([, offset]) => offset >= 0));
  }

  /** The newest events of a topic, oldest first, read by a short-lived consumer. */
  readNewest(topic: string, limit: number): Promise<LogEvent[]> {
    return this.#use(async (admin) => {
      const wanted = new Map<number, { from: number; to: number }>();
      for (const { partition, high, low } of await admin.fetchTopicOffsets(this.#names.topic(topic))) {
        const from = Math.max(Number(low), Number(high) - limit);
        if (from < Number(high)) wanted.set(partition, { from, to: Number(high) });
      }
      if (wanted.size === 0 || limit <= 0) return [];
      const groupId = this.#names.ownGroup(`read-newest-${randomUUID()}`);
      const found = await this.#read(topic, groupId, wanted);
      await admin.deleteGroups([groupId]).catch(() => {});
      found.sort((a, b) => a.timestampMs - b.timestampMs || byPosition(a.position, b.position));
      return found.slice(-limit);
    });
  }

  async close(): Promise<void> {
    const admin = this.#admin;
    this.#admin = undefined;
    if (admin)
      await waitAtMost(
        admin.then((it) => it.disconnect()),
        2000,
      );
  }

  async #read(
    topic: string,
    groupId: string,
    wanted: ReadonlyMap<number, { from: number; to: number }>,
  ): Promise<LogEvent[]> {
    const consumer = this.#createClient().consumer({
      groupId,
      maxWaitTimeInMs: 250,
      allowAutoTopicCreation: false,
    });
    const found = new Map<string, LogEvent>();
    const incomplete = new Set(wanted.keys());
    try {
      await consumer.connect();
      const brokerTopic = this.#names.topic(topic);
      await consumer.subscribe({ topics: [brokerTopic], fromBeginning: true });
      const complete = new Promise<void>((resolve, reject) => {
        consumer.on(consumer.events.CRASH, ({ payload }) => {
          if (!payload.restart) reject(payload.error);
        });
        // Sets the positions at each join, before the first fetch. A consumer that fails, for example because a leader
        // moves, joins again automatically. `seek` requires that the consumer has joined.
        consumer.on(consumer.events.GROUP_JOIN, () => {
          try {
            for (const [partition, { from }] of wanted) {
              consumer.seek({ topic: brokerTopic, partition, offset: String(from) });
            }
          } catch (error) {
            reject(error);
          }
        });
        consumer
          .run({
            autoCommit: false,
            eachBatch: async ({ batch }) => {
              const range = wanted.get(batch.partition);
              for (const message of range ? batch.messages : []) {
                const offset = Number(message.offset);
                if (range && offset >= range.from && offset < range.to) {
                  const event = toLogEvent(topic, batch.partition, message);
                  found.set(event.position, event);
                }
              }
              if (range && Number(batch.lastOffset()) >= range.to - 1) incomplete.delete(batch.partition);
              if (incomplete.size === 0) resolve();
            },
          })
          .catch(reject);
      });
      await within(complete, timeoutMs);
      return [...found.values()];
    } finally {
      await waitAtMost(consumer.disconnect(), 2000);
    }
  }

  /** Runs `work` and retries it while brokers disagree about topics or leaders. */
  async #use<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const settledByMs = Date.now() + settlingMs;
    for (;;) {
      this.#admin ??= this.#connect();
      const admin = this.#admin;
      try {
        return await within(admin.then(work), 2 * timeoutMs);
      } catch (error) {
        // A new connection also reads the partition leaders again.
        if (this.#admin === admin) await this.close();
        if (!isSettling(error) || Date.now() > settledByMs) {
          // Debug level, because the caller logs the failure where it matters.
          this.#logger.debug({ err: error }, 'a Kafka administration call failed');
          throw unavailable(`Kafka: ${(error as Error).message}`, error);
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  async #connect(): Promise<Admin> {
    const admin = this.#createClient().admin({
      retry: { initialRetryTime: 100, maxRetryTime: 1000, multiplier: 2, factor: 0.2, retries: 6 },
    });
    await admin.connect();
    return admin;
  }
}

/** Throws an error that names the cause for an operator; the error of kafkajs reports only that topics failed. */
async function throwCause(admin: Admin, cause: unknown, topics: readonly TopicSettings[]): Promise<never> {
  const errors = (cause as { errors?: unknown }).errors;
  if (!Array.isArray(errors)) throw cause;
  if (errors.some(({ type }) => type === 'INVALID_REPLICATION_FACTOR')) {
    const { brokers } = await admin.describeCluster();
    const factor = Math.max(...topics.map(({ replicationFactor }) => replicationFactor));
    throw new Error(
      `topics cannot be made: KAFKA_REPLICATION_FACTOR is ${factor}, and the cluster has ${brokers.length} ${brokers.length === 1 ? 'broker' : 'brokers'}`,
      { cause },
    );
  }
  // Another process may have created some of the topics in the meantime, which is no failure.
  const failures = (errors as (Error & { type?: string; topic?: string })[]).filter(
    ({ type }) => type !== 'TOPIC_ALREADY_EXISTS',
  );
  const [first = cause as Error & { topic?: string }] = failures;
  throw new Error(`topic ${first.topic} cannot be made: ${first.message}`, { cause: first });
}

function isSettling(error: unknown): boolean {
  const { name, type, cause } = (error ?? {}) as { name?: unknown; type?: unknown; cause?: unknown };
  if (typeof type === 'string' && settlingErrors.has(type)) return true;
  // A new cluster has no coordinator until its first group has joined.
  if (name === 'KafkaJSGroupCoordinatorNotFound') return true;
  return cause !== undefined && cause !== error && isSettling(cause);
}

/** Waits until the brokers report a leader for every partition of new topics. */
async function waitForLeaders(admin: Admin, topics: string[]): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    let problem: unknown = new Error('partitions have no leader');
    try {
      const found = await admin.fetchTopicMetadata({ topics });
      if (found.topics.every((topic) => topic.partitions.every(({ leader }) => leader >= 0))) return;
    } catch (error) {
      problem = error;
    }
    if (Date.now() > deadlineMs) throw problem;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function byPosition(a: string, b: string): number {
  const [partitionA = 0, offsetA = 0] = a.split(':').map(Number);
  const [partitionB = 0, offsetB = 0] = b.split(':').map(Number);
  return partitionA - partitionB || offsetA - offsetB;
}
