import { BatchSize } from '@headset-cloud/eventlog/batch-size.ts';
import { deliver } from '@headset-cloud/eventlog/runtime.ts';
import { Settling } from '@headset-cloud/eventlog/settling.ts';
import type { LogEvent, RunningSubscription, Subscription } from '@headset-cloud/eventlog/types.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { LogTopic } from './log-topic.ts';

const defaultMaxBatch = 500;
/**
 * Maximum time that a leaving member waits until its events are handled and durable; milliseconds. Other events are
 * delivered again.
 */
export const settleMs = 1000;

/** Options of a group. */
export interface LogGroupOptions {
  readonly group: string;
  readonly topic: LogTopic;
  /** The stored position: the offset of the last event that the group has handled. */
  readonly position: number;
  readonly logger: Logger;
  /** Publishes a dead letter, for subscriptions without a `storeDeadLetter` handler. */
  readonly deadLetter: (event: LogEvent, error: unknown) => Promise<void>;
  /** Resolves when everything that was published so far is durable. */
  readonly durable: () => Promise<void>;
  /** Called when the position has changed, so that it is stored soon. */
  readonly onMoved: () => void;
  readonly time: Time;
}

interface Member {
  readonly subscription: Subscription;
  readonly closing: AbortController;
  currentBatch: Promise<unknown> | undefined;
}

/**
 * One consumer group on one topic. The members handle batches in rotation, one batch at a time. So the events of a key
 * keep their order, whichever member handles them. A commit of new events wakes the group.
 */
export class LogGroup {
  readonly #options: LogGroupOptions;
  readonly #members: Member[] = [];
  readonly #settling: Settling<number>;
  /** The offset of the last handled event. Its results may not be durable yet. */
  #handled: number;
  /** The offset up to which all events are handled and their results are durable. */
  #position: number;
  #nextMember = 0;
  readonly #batchSize = new BatchSize(defaultMaxBatch);
  /** Number of members that are leaving; they may still handle events. */
  #leaving = 0;
  #running = false;
  #wake: (() => void) | undefined;

  constructor(options: LogGroupOptions) {
    this.#options = options;
    this.#handled = options.position;
    this.#position = options.position;
    this.#settling = new Settling((offset) => {
      this.#position = offset;
      options.onMoved();
    }, options.time);
    options.topic.listeners.add(() => this.#wake?.());
  }

  get name(): string {
    return this.#options.group;
  }

  /** The offset up to which all events are handled and durable; it is stored a little later. */
  get position(): number {
    return this.#position;
  }

  /** True while the group has members, or leaving members still handle events. */
  get subscribed(): boolean {
    return this.#members.length > 0 || this.#leaving > 0;
  }

  join(subscription: Subscription): RunningSubscription {
    const member: Member = { subscription, closing: new AbortController(), currentBatch: undefined };
    this.#members.push(member);
    if (!this.#running) {
      this.#running = true;
      void this.#run();
    }
    return {
      notReady: () => (member.closing.signal.aborted ? 'the subscription is closed' : undefined),
      close: () => this.#leave(member),
    };
  }

  /** Closes every member. */
  async close(): Promise<void> {
    await Promise.all([...this.#members].map((member) => this.#leave(member)));
  }

  async #leave(member: Member): Promise<void> {
    member.closing.abort();
    const index = this.#members.indexOf(member);
    if (index >= 0) this.#members.splice(index, 1);
    this.#wake?.();
    this.#leaving += 1;
    await member.currentBatch;
    await this.#settling.finish(settleMs);
    this.#leaving -= 1;
    if (this.#members.length > 0 || this.#leaving > 0) return;
    this.#settling.forget();
    this.#handled = this.#position;
  }

  async #run(): Promise<void> {
    for (;;) {
      const member = this.#members[this.#nextMember++ % (this.#members.length || 1)];
      if (!member) break;
      if (this.#handled >= this.#options.topic.committed) {
        // No commit is missed, because nothing runs between the check and the assignment of `#wake`.
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
        continue;
      }
      const mustSettleFirst = this.#members.length > 1 && !this.#settling.idle;
      if (this.#settling.full || mustSettleFirst) {
        this.#settling.hurry();
        await this.#settling.progress(settleMs);
        continue;
      }
      member.currentBatch = this.#batch(member);
      await member.currentBatch;
      member.currentBatch = undefined;
    }
    this.#running = false;
  }

  async #batch(member: Member): Promise<void> {
    const { topic, logger, group, deadLetter, durable, time } = this.#options;
    const { subscription, closing } = member;
    const rows = topic.read(
      this.#handled,
      Math.min(subscription.maxBatch ?? defaultMaxBatch, this.#batchSize.current),
    );
    const beganMs = time.monotonicNow();
    let handled = 0;
    const finished = await deliver(
      rows.map((row) => row.event),
      {
        group,
        logger,
        deadLetter: subscription.storeDeadLetter ?? deadLetter,
        handle: (events, batch) => subscription.handle(events, batch),
        // Several members share the one partition, so none of them owns it exclusively.
        held: () => !closing.signal.aborted && this.#members.length === 1,
        durable,
        signal: closing.signal,
        time,
        onHandled: (count, unsettled) => {
          const offset = rows[count - 1]?.offset ?? this.#handled;
          this.#settling.add(offset, count - handled, unsettled);
          this.#handled = offset;
          handled = count;
        },
      },
    );
    this.#batchSize.adapt(rows.length, time.monotonicNow() - beganMs);
    // A handler without I/O must not delay timers and sockets during a backlog.
    if (finished && rows.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
}
