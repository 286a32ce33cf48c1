import type { Chain, Held } from '../domain/chain.ts';
import type { Delivery, DeliveryChange } from '../domain/delivery.ts';
import { ended } from '../domain/outcome.ts';
import type { LaneContext } from './lane-context.ts';
import type { LaneQueue } from './lane-queue.ts';

/** A pause up to this is waited for in memory; a longer one in the database, without an owner. */
const holdMs = 5000;

/** What becomes of a lane's deliveries: in its queue, and in the database by way of the marks. */
export class LaneLedger {
  readonly #queue: LaneQueue;
  readonly #c: LaneContext;

  constructor(queue: LaneQueue, context: LaneContext) {
    this.#queue = queue;
    this.#c = context;
  }

  /** An attempt is over. */
  attempted(chain: Chain, held: Held, change: DeliveryChange): void {
    const { clock, finished } = this.#c;
    const { order, orderKey, sequence } = held.delivery;
    const delivery = { ...held.delivery, ...change };
    held.delivery = delivery;
    if (order === 'tried') {
      // Not where it went out of order, its patience being over.
      if (finished.knows(delivery)) finished.set(orderKey, sequence);
      if (change.status === 'pending') {
        // The next may go; this one is tried again on its own (rule A20).
        held.delivery = { ...delivery, order: 'none' };
        const own = this.#queue.isolate(chain, held);
        own.working = held;
        this.putOff(own, delivery.nextAttemptAtMs, { ...change, order: 'none' });
        return;
      }
    }
    // A later event of its order key came while this progress was on its way.
    const useless = delivery.replaceable && !delivery.takenOver && chain.all.at(-1) !== held;
    if (change.status === 'pending' && !useless) {
      this.putOff(chain, delivery.nextAttemptAtMs, change);
      return;
    }
    this.#queue.remove(chain, held);
    this.end(
      delivery,
      change.status === 'pending' ? { ...change, ...ended('replaced', clock.now()) } : change,
    );
    if (change.status === 'delivered' && order === 'ended') finished.set(orderKey, sequence);
    this.#queue.done(chain);
  }

  /** The chain goes on at `untilMs`: soon, from memory; later, from the database. */
  putOff(chain: Chain, untilMs: number, change: DeliveryChange): void {
    const { clock, marks, instanceId: onlyIfOwner, stopping } = this.#c;
    const delayMs = untilMs - clock.now();
    if (delayMs > holdMs || stopping()) {
      this.release(chain, untilMs, change);
      return;
    }
    if (change.attempts !== undefined) {
      marks.add({ id: (chain.working as Held).delivery.id, change, onlyIfOwner });
    }
    this.#queue.putOff(chain, Math.max(delayMs, 0));
  }

  /** Gives the chain back to the database, due at `untilMs`. */
  release(chain: Chain, untilMs: number, change: DeliveryChange): void {
    const { marks, instanceId: onlyIfOwner } = this.#c;
    const first = chain.working;
    for (const held of this.#queue.evict(chain)) {
      const own = held === first ? change : {};
      marks.add({ id: held.delivery.id, change: { ...own, owner: null, dueAtMs: untilMs }, onlyIfOwner });
    }
  }

  /** A delivery has ended. */
  end(delivery: Delivery, change: DeliveryChange): void {
    const { marks, instanceId } = this.#c;
    // What was delivered was delivered, whoever owns it now.
    const onlyIfOwner = change.status === 'delivered' ? undefined : instanceId;
    marks.add({ id: delivery.id, change, onlyIfOwner });
  }

  /** What was taken out of the queue is for whoever has room. */
  giveBack(given: readonly Held[]): void {
    const { marks, instanceId: onlyIfOwner } = this.#c;
    for (const { delivery } of given) {
      // Not now, if it was due before: it would come after what waits already and came later.
      const change = { owner: null, dueAtMs: delivery.nextAttemptAtMs };
      marks.add({ id: delivery.id, change, onlyIfOwner });
    }
  }
}
