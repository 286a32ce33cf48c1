import { checkEvents, deadLetterOf, unavailable } from '@headset-cloud/eventlog/events.ts';
import {
  deadLetterTopic,
  type EventLog,
  type LogEvent,
  type OutgoingEvent,
  type RunningSubscription,
  type Subscription,
} from '@headset-cloud/eventlog/types.ts';
import { systemTime, type Time, type Timer } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Settle } from '@headset-cloud/store/types.ts';
import type { EmbeddedDatabase } from './database.ts';
import { LogGroup } from './log-group.ts';
import { createLogTables, LogTopic } from './log-topic.ts';

/** Retention and intervals of the embedded log. */
export interface EmbeddedLogOptions {
  /**
   * Minimum age of deleted events; default 7 days. An event is deleted only after every group has handled it. A group
   * without a subscription for this time is deleted, because it would prevent the deletion of events for ever.
   */
  readonly retentionMs?: number;
  /** Dead letters are kept this long; default 30 days. */
  readonly deadLetterRetentionMs?: number;
  /** Interval between two deletions of old events; default 10 s. */
  readonly trimIntervalMs?: number;
  /** Maximum events that one write deletes; default 500. */
  readonly trimStep?: number;
  /** Maximum time until a group's new position is stored; default 200 ms. */
  readonly flushIntervalMs?: number;
  readonly time?: Time;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/**
 * Interval at which the subscription time of a group is stored. After a start, groups have the same time to subscribe
 * before they may be deleted.
 */
const groupCheckMs = hourMs;

/**
 * The event log of the embedded stack (rule C5). The embedded database stores topics, consumer groups and their
 * positions. A publish wakes the subscribers, which are in the same process. One log for each database. Positions are
 * stored a few times a second, and at `close`. So after a crash the last events are delivered again.
 */
export function createEmbeddedLog(
  db: EmbeddedDatabase,
  logger: Logger,
  options: EmbeddedLogOptions = {},
): EventLog {
  return new EmbeddedLog(db, logger, options);
}

class EmbeddedLog implements EventLog {
  readonly #db: EmbeddedDatabase;
  readonly #logger: Logger;
  readonly #options: EmbeddedLogOptions;
  readonly #time: Time;
  readonly #topics = new Map<string, LogTopic>();
  readonly #groups = new Map<LogTopic, Map<string, LogGroup>>();
  readonly #moved = new Map<LogGroup, LogTopic>();
  readonly #openedAtMs: number;
  readonly #trimTimer: Timer;
  #flushTimer: Timer | undefined;
  #trimming: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(db: EmbeddedDatabase, logger: Logger, options: EmbeddedLogOptions) {
    this.#db = db;
    this.#logger = logger;
    this.#options = options;
    this.#time = options.time ?? systemTime;
    this.#openedAtMs = this.#time.monotonicNow();
    this.#trimTimer = this.#time.setInterval(() => {
      this.#trimming ??= this.#trim().finally(() => {
        this.#trimming = undefined;
      });
    }, options.trimIntervalMs ?? 10_000);
    this.#trimTimer.unref();
  }

  async ensureTopics(topics: readonly string[]): Promise<void> {
    const missing = topics
      .flatMap((topic) => [topic, deadLetterTopic(topic)])
      .filter((topic) => !this.#topics.has(topic));
    if (missing.length === 0) return;
    const opened = await this.#write(() => {
      createLogTables(this.#db.sql);
      return missing.map((topic) => new LogTopic(this.#db.sql, topic));
    });
    for (const topic of opened) {
      if (!this.#topics.has(topic.name)) this.#topics.set(topic.name, topic);
    }
  }

  async publish(
    topicName: string,
    events: readonly OutgoingEvent[],
    { settle = 'durable' }: { readonly settle?: Settle } = {},
  ): Promise<void> {
    if (this.#closing) throw unavailable('the log is closed');
    checkEvents(topicName, events);
    if (events.length === 0) return;
    const topic = this.#topic(topicName);
    const append = () => topic.append(events, this.#db.clock.now());
    await Promise.all([
      // Events are delivered only after the commit. So a write of a group for an event is never durable without the
      // event.
      this.#write(append, 'in-order').then((appended) => topic.advance(appended)),
      settle === 'durable' ? this.#durable() : undefined,
    ]);
  }

  async subscribe(subscription: Subscription): Promise<RunningSubscription> {
    if (this.#closing) throw unavailable('the log is closed');
    const topic = this.#topic(subscription.topic);
    const groups = this.#groups.get(topic) ?? new Map<string, LogGroup>();
    this.#groups.set(topic, groups);
    const group =
      groups.get(subscription.group) ?? (await this.#openGroup(topic, subscription.group, groups));
    return group.join(subscription);
  }

  async readNewest(topic: string, limit: number): Promise<LogEvent[]> {
    const events = this.#topic(topic).readNewest(limit);
    await this.#durable();
    return events;
  }

  async lag(group: string, topicName: string): Promise<number> {
    const topic = this.#topic(topicName);
    const position = this.#groups.get(topic)?.get(group)?.position ?? topic.position(group) ?? 0;
    return topic.committed - Math.max(position, topic.start());
  }

  async committed(group: string, topicName: string): Promise<ReadonlyMap<number, number>> {
    // Reads the stored position, where the group continues after a crash. This position may not be durable yet; the
    // next durable write of the caller makes it durable, too.
    const position = this.#topic(topicName).position(group);
    return new Map(position === undefined ? [] : [[0, position + 1]]);
  }

  unusedGroupAgeMs(): number {
    const now = this.#db.clock.now();
    const ages = [...this.#topics.values()].flatMap((topic) =>
      topic
        .groups()
        .filter(({ name, position }) => {
          return position < topic.committed && !this.#groups.get(topic)?.get(name)?.subscribed;
        })
        .map(({ subscribedAtMs }) => now - (subscribedAtMs ?? now)),
    );
    return Math.max(0, ...ages);
  }

  notReady(): string | undefined {
    return this.#closing ? 'the log is closed' : this.#db.notReady();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#time.clearTimer(this.#trimTimer);
    const groups = [...this.#groups.values()].flatMap((byName) => [...byName.values()]);
    await Promise.all(groups.map((group) => group.close()));
    await this.#trimming;
    this.#time.clearTimer(this.#flushTimer);
    await this.#flush();
    // A failed flush has scheduled another flush, which must not run after the close.
    this.#time.clearTimer(this.#flushTimer);
  }

  #topic(name: string): LogTopic {
    const topic = this.#topics.get(name);
    if (!topic) throw unavailable(`topic ${name} does not exist: ensureTopics was not called for it`);
    return topic;
  }

  async #openGroup(topic: LogTopic, name: string, groups: Map<string, LogGroup>): Promise<LogGroup> {
    // Stores the group before the first event is delivered. From now on, only events that it has handled are deleted.
    await this.#write(() => this.#save(topic, name, topic.position(name) ?? topic.start()));
    const other = groups.get(name);
    if (other) return other;
    const group: LogGroup = new LogGroup({
      group: name,
      topic,
      position: topic.position(name) ?? topic.start(),
      logger: this.#logger,
      deadLetter: (event, error) =>
        this.publish(deadLetterTopic(event.topic), [deadLetterOf(event, name, error)]),
      durable: () => this.#durable(),
      onMoved: () => this.#flushLater(group, topic),
      time: this.#time,
    });
    groups.set(name, group);
    return group;
  }

  #save(topic: LogTopic, name: string, position: number): void {
    topic.saveGroup({ name, position, subscribedAtMs: this.#db.clock.now() });
  }

  #flushLater(group: LogGroup, topic: LogTopic): void {
    this.#moved.set(group, topic);
    const { flushIntervalMs = 200 } = this.#options;
    this.#flushTimer ??= this.#time.setTimeout(() => void this.#flush(), flushIntervalMs);
  }

  /** Stores the new positions; after a failure they are stored with the next flush. */
  async #flush(): Promise<void> {
    this.#flushTimer = undefined;
    const moved = [...this.#moved];
    this.#moved.clear();
    if (moved.length === 0) return;
    try {
      await this.#write(() => {
        for (const [group, topic] of moved) this.#save(topic, group.name, group.position);
      });
    } catch (error) {
      this.#logger.warn({ err: error }, 'positions could not be stored');
      for (const [group, topic] of moved) this.#flushLater(group, topic);
    }
  }

  async #trim(): Promise<void> {
    const { retentionMs = 7 * dayMs, deadLetterRetentionMs = 30 * dayMs, trimStep = 500 } = this.#options;
    const deadLetterTopics = new Set([...this.#topics.keys()].map(deadLetterTopic));
    try {
      for (const topic of this.#topics.values()) {
        const keptMs = deadLetterTopics.has(topic.name) ? deadLetterRetentionMs : retentionMs;
        await this.#expireGroups(topic, keptMs);
        const beforeMs = this.#db.clock.now() - keptMs;
        let deleted = trimStep;
        while (deleted === trimStep && !this.#closing) {
          deleted = await this.#write(() => topic.trim(beforeMs, trimStep));
        }
      }
    } catch (error) {
      this.#logger.warn({ err: error }, 'old events could not be deleted');
    }
  }

  /** Stores the subscribed groups, and deletes groups without a subscription for `keptMs`. */
  async #expireGroups(topic: LogTopic, keptMs: number): Promise<void> {
    const now = this.#db.clock.now();
    const isGracePeriodOver = this.#time.monotonicNow() - this.#openedAtMs >= groupCheckMs;
    const known = this.#groups.get(topic);
    const isSubscribed = (name: string) => known?.get(name)?.subscribed === true;
    const groups = topic.groups();
    const toUpdate = groups.filter(({ name, subscribedAtMs: atMs }) => {
      // A time in the future was written before the clock was set back: it is replaced.
      return atMs === null || atMs > now || (isSubscribed(name) && atMs <= now - groupCheckMs);
    });
    const expired = groups.filter(({ name, subscribedAtMs: atMs }) => {
      return isGracePeriodOver && atMs !== null && atMs < now - keptMs && !isSubscribed(name);
    });
    if (toUpdate.length + expired.length === 0) return;
    // No group subscribes in between, because the write starts in this event loop iteration.
    await this.#write(() => {
      for (const group of toUpdate) topic.saveGroup({ ...group, subscribedAtMs: now });
      for (const { name } of expired) {
        topic.deleteGroup(name);
        known?.delete(name);
      }
    });
    for (const { name } of expired) {
      this.#logger.warn(
        { group: name, topic: topic.name },
        'consumer group not subscribed for long, deleted',
      );
    }
  }

  /** Runs a write. A failure is reported as a transient error. `work` must not throw after it has written. */
  async #write<T>(work: () => T, settle?: Settle): Promise<T> {
    try {
      return await this.#db.writeWithoutSavepoint(work, settle);
    } catch (error) {
      throw unavailable('the embedded database failed', error);
    }
  }

  /** Resolves when everything published so far is durable. */
  async #durable(): Promise<void> {
    try {
      await this.#db.untilDurable();
    } catch (error) {
      throw unavailable('the embedded database failed', error);
    }
  }
}
