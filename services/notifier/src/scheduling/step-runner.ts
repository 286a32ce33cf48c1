import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { QueueEntry } from '../domain/chain.ts';
import type { Delivery, DeliveryChange } from '../domain/delivery.ts';
import { givenUp, needsOwnership, nextStep, type Step, type TryOutcome } from '../domain/next-step.ts';
import { ended } from '../domain/outcome.ts';
import type { ChangeWriter } from './change-writer.ts';
import type { FinishedOrders } from './finished-orders.ts';
import type { LaneQueue, Taken } from './lane-queue.ts';
import type { Unrecorded } from './unrecorded.ts';

export interface StepRunnerOptions {
  readonly clock: Clock;
  readonly instanceId: string;
  readonly writer: ChangeWriter;
  readonly finished: FinishedOrders;
  readonly unrecorded: Pick<Unrecorded, 'handOver'>;
  /** Called when a delivery is given up. */
  readonly onDead: () => void;
}

/**
 * Carries out decisions about deliveries: in a lane's queue, and in the database through the writer. Only this class
 * changes deliveries after they were accepted.
 */
export class StepRunner {
  readonly #o: StepRunnerOptions;

  constructor(options: StepRunnerOptions) {
    this.#o = options;
  }

  /** True while too many changes are unstored to start anything new. */
  get full(): boolean {
    return this.#o.writer.full;
  }

  /** True while a change of a delivery is not stored yet. */
  isUnstored(id: string): boolean {
    return this.#o.writer.has(id);
  }

  /** After a try: decides the next step (domain/next-step.ts) and carries it out. */
  follow(
    queue: LaneQueue,
    taken: Taken,
    outcome: TryOutcome,
    lane: { readonly crowded: boolean; readonly stopping: boolean },
  ): void {
    const { clock, finished } = this.#o;
    const { chain, entry } = taken;
    const { delivery } = entry;
    const step = nextStep(delivery, outcome, {
      nowMs: clock.now(),
      first: chain.first === entry,
      last: chain.last === entry,
      inOrder: delivery.order === 'tried' && finished.knows(delivery),
      crowded: lane.crowded,
      stopping: lane.stopping,
    });
    if ('finishesOrder' in step && step.finishesOrder) finished.set(delivery.orderKey, delivery.sequence);
    this.#run(queue, taken, step);
  }

  /** Records that a later event replaced a progress before it was retried. */
  replace({ delivery }: QueueEntry): void {
    this.#store(delivery, ended('replaced', this.#o.clock.now()));
  }

  /** Gives up a delivery without another attempt. */
  giveUp({ delivery }: QueueEntry, reason: string): void {
    this.#store(delivery, givenUp(delivery, reason, this.#o.clock.now()));
  }

  /** Gives deliveries that were removed from the queue to any instance with free memory. */
  giveBack(entries: readonly QueueEntry[]): void {
    for (const { delivery } of entries) {
      // Not due now if it was due before: it would come after waiting ones that arrived later.
      this.#store(delivery, { owner: null, dueAtMs: delivery.nextAttemptAtMs });
    }
  }

  #run(queue: LaneQueue, taken: Taken, step: Step): void {
    const { chain, entry } = taken;
    switch (step.kind) {
      case 'end':
        queue.remove(taken);
        this.#store(entry.delivery, step.change);
        queue.done(chain);
        break;
      case 'drop':
        queue.remove(taken);
        queue.done(chain);
        break;
      case 'wait': {
        const waiting = this.#change(queue, taken, step.change);
        if (step.change) this.#store(entry.delivery, step.change);
        queue.putOff(waiting, step.delayMs);
        break;
      }
      case 'release':
        for (const each of queue.evict(this.#change(queue, taken, step.change))) {
          const own = each === entry ? step.change : undefined;
          this.#store(each.delivery, { ...own, owner: null, dueAtMs: step.untilMs });
        }
        break;
      case 'give back':
        this.giveBack(queue.evict(chain));
        break;
      case 'again':
        queue.done(chain, 'again');
    }
  }

  /**
   * Changes a delivery that stays pending. Returns its chain, which is a separate chain after it has left its order.
   */
  #change(queue: LaneQueue, taken: Taken, change: DeliveryChange | undefined) {
    const { chain, entry } = taken;
    if (!change) return chain;
    entry.delivery = { ...entry.delivery, ...change };
    const now = change.order === 'none' ? queue.isolate(taken) : chain;
    now.working = entry;
    return now;
  }

  #store(delivery: Delivery, change: DeliveryChange): void {
    const { writer, instanceId, unrecorded, onDead } = this.#o;
    const { id } = delivery;
    if (change.status === 'dead') onDead();
    const whole = unrecorded.handOver(id) ? delivery : undefined;
    writer.add({ id, whole, change, onlyIfOwner: needsOwnership(change) ? instanceId : undefined });
  }
}
