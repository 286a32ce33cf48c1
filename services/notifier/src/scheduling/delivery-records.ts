import type { Batch, Unsettled } from '@headset-cloud/eventlog/types.ts';
import type { Time, Timer } from '@headset-cloud/runtime/clock.ts';
import type { Delivery, DeliveryChange } from '../domain/delivery.ts';
import { needsOwnership } from '../domain/next-step.ts';
import type { ChangeWriter, WriteResult } from './change-writer.ts';

/** Maximum deliveries without a record. */
const maxUnrecorded = 500;
/** Time after which a delivery that has not ended is recorded; milliseconds. */
const recordAfterMs = 1000;
const checkEveryMs = 100;

export interface DeliveryRecordsOptions {
  readonly time: Time;
  readonly instanceId: string;
  readonly leaseMs: number;
  readonly writer: Pick<ChangeWriter, 'add' | 'endOf'>;
}

interface Item {
  readonly delivery: Delivery;
  readonly batch: Pick<Batch, 'held'>;
  readonly sinceMs: number;
  /** Resolves when the record is durable. False: the delivery belongs to another instance. */
  readonly recorded: PromiseWithResolvers<boolean>;
  /** The write of the record; undefined until it is requested. False: the delivery belongs to another instance. */
  writing: Promise<boolean> | undefined;
}

/**
 * Stores the changes of deliveries through the writer. Knows the deliveries without a record: their event is in the
 * log, they are not in the database yet, and their first attempt may come before their record (ADR 0050). Each is
 * recorded with its first change, after a second, or on request. The log's offset passes the event only when the record
 * is durable. After a crash before that, the callback is repeated.
 */
export class DeliveryRecords {
  readonly #o: DeliveryRecordsOptions;
  readonly #items = new Map<string, Item>();
  readonly #byOrder = new Map<string, Set<Item>>();
  #expected = 0;
  #timer: Timer | undefined;

  constructor(options: DeliveryRecordsOptions) {
    this.#o = options;
  }

  /** Number of further deliveries without a record that may be taken. */
  get free(): number {
    return maxUnrecorded - this.#items.size - this.#expected;
  }

  /** Reserves capacity for planned deliveries; negative to release it. */
  expect(count: number): void {
    this.#expected += count;
  }

  /** Adds deliveries of a batch of the log that have no record. They belong to this instance. */
  take(deliveries: readonly Delivery[], batch: Pick<Batch, 'held'>): void {
    const sinceMs = this.#o.time.monotonicNow();
    for (const delivery of deliveries) {
      const recorded = Promise.withResolvers<boolean>();
      const item: Item = { delivery, batch, sinceMs, recorded, writing: undefined };
      this.#items.set(delivery.id, item);
      if (delivery.order === 'none') continue;
      const ofOrder = this.#byOrder.get(delivery.orderKey) ?? new Set<Item>();
      this.#byOrder.set(delivery.orderKey, ofOrder.add(item));
    }
    this.#checkSoon();
  }

  /** Returns the writes of these deliveries' records. Deliveries that have a durable record are ignored. */
  settling(ids: readonly string[]): Unsettled {
    const items = ids.flatMap((id) => this.#items.get(id) ?? []);
    return {
      durable: Promise.all(items.map(({ recorded }) => recorded.promise)).then(() => {}),
      hurry: () => {
        for (const item of items) void this.#record(item);
      },
    };
  }

  /** True while a delivery's record is not durable. */
  lacks(id: string): boolean {
    return this.#items.has(id);
  }

  /** True if a delivery may be sent before it is recorded: it has no record, and no other instance can have it. */
  maySendUnrecorded(id: string): boolean {
    const item = this.#items.get(id);
    return item !== undefined && !item.writing && item.batch.held();
  }

  /** Stores a change of a delivery that this instance works on, with its record if it has none. */
  change(delivery: Delivery, change: DeliveryChange): void {
    const item = this.#items.get(delivery.id);
    if (item && !item.writing) void this.#record(item, delivery, change);
    else void this.#write(delivery, change);
  }

  /**
   * Records a delivery unchanged, if it is not recorded yet. Resolves when its record is durable, or storing was given
   * up at a shutdown. False if it belongs to another instance.
   */
  async record(id: string): Promise<boolean> {
    const item = this.#items.get(id);
    return item ? this.#record(item) : true;
  }

  /** Resolves when a delivery's record is durable. False if it belongs to another instance. */
  async recorded(id: string): Promise<boolean> {
    return this.#items.get(id)?.recorded.promise ?? true;
  }

  /**
   * Records all deliveries of these order keys. Resolves when the records are durable. Then an instance that finds a
   * delivery of one of these order keys in the database also finds the deliveries before and after it.
   */
  async recordOrders(orderKeys: Iterable<string>): Promise<void> {
    const items = [...new Set(orderKeys)].flatMap((orderKey) => this.#ofOrder(orderKey));
    await Promise.all(items.map(({ delivery }) => this.record(delivery.id)));
  }

  /** True if a later delivery of its order key has no durable record. */
  hasLater({ orderKey, sequence }: Pick<Delivery, 'orderKey' | 'sequence'>): boolean {
    return this.#ofOrder(orderKey).some(({ delivery }) => delivery.sequence > sequence);
  }

  /**
   * Resolves when the deliveries before a delivery under its order key are delivered, or can be found in the database.
   * False: some are neither finished nor recorded.
   */
  async waitForEarlier({ orderKey, sequence }: Pick<Delivery, 'orderKey' | 'sequence'>): Promise<boolean> {
    const { writer } = this.#o;
    const earlier = this.#ofOrder(orderKey).filter(
      ({ delivery: { id, sequence: its } }) => its < sequence && writer.endOf(id) !== 'delivered',
    );
    const written = await Promise.all(earlier.map(({ writing }) => writing));
    return !written.includes(undefined);
  }

  stop(): void {
    this.#o.time.clearTimer(this.#timer);
  }

  #ofOrder(orderKey: string): Item[] {
    return [...(this.#byOrder.get(orderKey) ?? [])];
  }

  /**
   * Records a delivery with a change, by default only with a lease; does nothing if the record is requested already.
   */
  #record(item: Item, delivery = item.delivery, change = this.#lease()): Promise<boolean> {
    item.writing ??= this.#write(delivery, change, delivery).then((result) => this.#written(item, result));
    return item.writing;
  }

  #lease(): DeliveryChange {
    const { time, instanceId, leaseMs } = this.#o;
    return { owner: instanceId, dueAtMs: time.now() + leaseMs };
  }

  #write({ id }: Delivery, change: DeliveryChange, whole?: Delivery): Promise<WriteResult> {
    const { writer, instanceId } = this.#o;
    return writer.add({ id, whole, change, onlyIfOwner: needsOwnership(change) ? instanceId : undefined });
  }

  /** Returns false if the delivery belongs to another instance. */
  #written(item: Item, result: WriteResult): boolean {
    if (result === 'given up') return true;
    const { id, orderKey } = item.delivery;
    this.#items.delete(id);
    const ofOrder = this.#byOrder.get(orderKey);
    ofOrder?.delete(item);
    if (ofOrder?.size === 0) this.#byOrder.delete(orderKey);
    const mine = result !== 'lost';
    item.recorded.resolve(mine);
    return mine;
  }

  #checkSoon(): void {
    this.#timer ??= this.#o.time.setTimeout(() => {
      this.#timer = undefined;
      const beforeMs = this.#o.time.monotonicNow() - recordAfterMs;
      for (const item of this.#items.values()) if (item.sinceMs < beforeMs) void this.#record(item);
      if (this.#items.size > 0) this.#checkSoon();
    }, checkEveryMs);
  }
}
