import type { Clock } from '@headset-cloud/kit/clock.ts';
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
  /** A delivery is given up. */
  readonly onDead: () => void;
}

/**
 * Carries out what is decided about deliveries: in a lane's queue, and in the database by the writer. It
 * alone changes deliveries after their intake.
 */
export class StepRunner {
  readonly #o: StepRunnerOptions;

  constructor(options: StepRunnerOptions) {
    this.#o = options;
  }

  /** True while so much is unstored that nothing new is to be started. */
  get full(): boolean {
    return this.#o.writer.full;
  }

  /** True while what became of a delivery here is not stored yet. */
  isUnstored(id: string): boolean {
    return this.#o.writer.has(id);
  }

  /** A try is over: decides what follows on it (domain/next-step.ts), and does that. */
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

  /** A progress was replaced by a later event before it was tried again. */
  replace({ delivery }: QueueEntry): void {
    this.#store(delivery, ended('replaced', this.#o.clock.now()));
  }

  /** A delivery is given up without another attempt. */
  giveUp({ delivery }: QueueEntry, reason: string): void {
    this.#store(delivery, givenUp(delivery, reason, this.#o.clock.now()));
  }

  /** What was taken out of the queue is for whoever has room. */
  giveBack(entries: readonly QueueEntry[]): void {
    for (const { delivery } of entries) {
      // Not now, if it was due before: it would come after what waits already and came later.
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

  /** Changes a delivery that stays pending. Answers its chain: its own once it has left its order. */
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
