import type { Batch, Unsettled } from '@headset-cloud/eventlog/types.ts';
import type { Time, Timer } from '@headset-cloud/runtime/clock.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { ChangeWriter } from './change-writer.ts';

/** Maximum deliveries without a record. */
const maxUnrecorded = 500;
/** Time after which a delivery that has not ended is recorded; milliseconds. */
const recordAfterMs = 1000;
const checkEveryMs = 100;

export interface UnrecordedOptions {
  readonly time: Time;
  readonly instanceId: string;
  readonly leaseMs: number;
  readonly writer: Pick<ChangeWriter, 'add' | 'endOf' | 'stored'>;
}

interface Item {
  readonly delivery: Delivery;
  readonly batch: Pick<Batch, 'held'>;
  readonly sinceMs: number;
  readonly recorded: PromiseWithResolvers<void>;
  /** True if the writer has its record, which may not be durable yet. */
  handedOver: boolean;
  lost: boolean;
}

/**
 * Deliveries whose first attempt may come before their record (ADR 0050): the log has their event, the database does
 * not know them. The offset passes the event only when the record, final or pending, is durable, so a crash before that
 * repeats the callback. Each delivery is recorded at its first change, after a second, or on request.
 */
export class Unrecorded {
  readonly #o: UnrecordedOptions;
  readonly #items = new Map<string, Item>();
  readonly #byOrder = new Map<string, Set<Item>>();
  #expected = 0;
  #timer: Timer | undefined;

  constructor(options: UnrecordedOptions) {
    this.#o = options;
  }

  /** Number of further deliveries that may be taken. */
  get free(): number {
    return maxUnrecorded - this.#items.size - this.#expected;
  }

  /** Reserves capacity for planned deliveries; negative to release it. */
  expect(count: number): void {
    this.#expected += count;
  }

  /** Takes deliveries of a batch of the log. They belong to this instance. */
  take(deliveries: readonly Delivery[], batch: Pick<Batch, 'held'>): void {
    const sinceMs = this.#o.time.monotonicNow();
    for (const delivery of deliveries) {
      const item = {
        delivery,
        batch,
        sinceMs,
        recorded: Promise.withResolvers<void>(),
        handedOver: false,
        lost: false,
      };
      this.#items.set(delivery.id, item);
      if (delivery.order === 'none') continue;
      const ofOrder = this.#byOrder.get(delivery.orderKey) ?? new Set<Item>();
      this.#byOrder.set(delivery.orderKey, ofOrder.add(item));
    }
    this.#checkSoon();
  }

  /** Resolves when those of these deliveries that are here have durable records. */
  settling(ids: readonly string[]): Unsettled {
    const items = ids.flatMap((id) => this.#items.get(id) ?? []);
    return {
      durable: Promise.all(items.map(({ recorded }) => recorded.promise)).then(() => {}),
      hurry: () => {
        for (const item of items) if (!item.handedOver) this.#record(item);
      },
    };
  }

  /** True while a delivery's record is not durable. */
  has(id: string): boolean {
    return this.#items.has(id);
  }

  /** True while a delivery has no record, and no other instance can have it. */
  mayGo(id: string): boolean {
    const item = this.#items.get(id);
    return item !== undefined && !item.handedOver && item.batch.held();
  }

  /** True if a delivery's record must still be written: the caller writes it with the first change. */
  handOver(id: string): boolean {
    const item = this.#items.get(id);
    if (!item || item.handedOver) return false;
    item.handedOver = true;
    return true;
  }

  /**
   * Records a delivery unchanged, if it is not recorded yet. Resolves when its record is durable, or storing was given
   * up at a shutdown. False if it belongs to another instance.
   */
  async record(id: string): Promise<boolean> {
    const item = this.#items.get(id);
    if (!item) return true;
    if (!item.handedOver) this.#record(item);
    await this.#o.writer.stored([id]);
    return !item.lost;
  }

  /**
   * Records all deliveries of these order keys. Resolves when they are durable: an instance that finds a delivery of
   * such a key in the database then also finds the deliveries before and after it.
   */
  async recordOrders(orderKeys: Iterable<string>): Promise<void> {
    const items = [...new Set(orderKeys)].flatMap((orderKey) => this.#ofOrder(orderKey));
    await Promise.all(items.map(({ delivery }) => this.record(delivery.id)));
  }

  /** Must be called when a delivery's record is durable; `lost`: it belongs to another instance. */
  recorded(id: string, lost: boolean): void {
    const item = this.#items.get(id);
    if (!item) return;
    item.lost = lost;
    this.#items.delete(id);
    const { orderKey } = item.delivery;
    const ofOrder = this.#byOrder.get(orderKey);
    ofOrder?.delete(item);
    if (ofOrder?.size === 0) this.#byOrder.delete(orderKey);
    item.recorded.resolve();
  }

  /** True if a later delivery of its order key is here. */
  hasLater({ orderKey, sequence }: Pick<Delivery, 'orderKey' | 'sequence'>): boolean {
    return this.#ofOrder(orderKey).some(({ delivery }) => delivery.sequence > sequence);
  }

  /**
   * Resolves when the deliveries before a delivery under its order key are delivered, or can be found in the database.
   * False: some are neither finished nor recorded.
   */
  async showEarlier({ orderKey, sequence }: Pick<Delivery, 'orderKey' | 'sequence'>): Promise<boolean> {
    const { writer } = this.#o;
    const earlier = this.#ofOrder(orderKey).filter(
      ({ delivery: { id, sequence: its } }) => its < sequence && writer.endOf(id) !== 'delivered',
    );
    await writer.stored(earlier.filter((item) => item.handedOver).map(({ delivery }) => delivery.id));
    return earlier.every((item) => item.handedOver);
  }

  stop(): void {
    this.#o.time.clearTimer(this.#timer);
  }

  #ofOrder(orderKey: string): Item[] {
    return [...(this.#byOrder.get(orderKey) ?? [])];
  }

  #record(item: Item): void {
    const { time, instanceId, leaseMs, writer } = this.#o;
    item.handedOver = true;
    const { delivery } = item;
    writer.add({
      id: delivery.id,
      whole: delivery,
      change: { owner: instanceId, dueAtMs: time.now() + leaseMs },
      onlyIfOwner: instanceId,
    });
  }

  #checkSoon(): void {
    this.#timer ??= this.#o.time.setTimeout(() => {
      this.#timer = undefined;
      const beforeMs = this.#o.time.monotonicNow() - recordAfterMs;
      for (const item of this.#items.values())
        if (!item.handedOver && item.sinceMs < beforeMs) this.#record(item);
      if (this.#items.size > 0) this.#checkSoon();
    }, checkEveryMs);
  }
}
