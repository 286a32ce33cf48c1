import type { Time, Timer } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { QueueEntry } from '../domain/chain.ts';
import { needsRenewal } from '../domain/lease.ts';
import type { DeliveryStore } from '../ports/delivery-store.ts';
import type { DeliveryRecords } from './delivery-records.ts';

/** Maximum leases that one write renews. */
const renewAtOnce = 100;

/** Contains queued deliveries, and drops those that another instance has taken. */
export interface LeaseHolder {
  entries(): Iterable<QueueEntry>;
  drop(entry: QueueEntry): void;
}

export interface LeaseRenewalOptions {
  readonly time: Time;
  readonly logger: Logger;
  readonly store: Pick<DeliveryStore, 'renew'>;
  readonly records: Pick<DeliveryRecords, 'lacks'>;
  readonly leaseMs: number;
  readonly holders: () => Iterable<LeaseHolder>;
}

/**
 * Renews the leases of queued deliveries at a fixed rate, unlike the repetition of the kit: a slow write must not delay
 * the next renewal.
 */
export class LeaseRenewal {
  readonly #o: LeaseRenewalOptions;
  #timer: Timer | undefined;
  #running = false;

  constructor(options: LeaseRenewalOptions) {
    this.#o = options;
  }

  start(): void {
    this.#timer = this.#o.time.setInterval(() => void this.#renew(), this.#o.leaseMs / 3);
  }

  stop(): void {
    this.#o.time.clearTimer(this.#timer);
  }

  async #renew(): Promise<void> {
    // A slow database gets no further call before it has answered, because that would make it slower.
    if (this.#running) return;
    this.#running = true;
    const { time, logger, leaseMs } = this.#o;
    const untilMs = time.now() + leaseMs;
    const aging = this.#aging(untilMs);
    try {
      // In batches, because one large write would delay callbacks that can be sent.
      for (let at = 0; at < aging.length; at += renewAtOnce) {
        await this.#renewSome(aging.slice(at, at + renewAtOnce), untilMs);
      }
    } catch (error) {
      logger.warn({ err: error }, 'leases of callbacks not renewed');
    } finally {
      this.#running = false;
    }
  }

  #aging(untilMs: number): [LeaseHolder, QueueEntry][] {
    const { holders, records, leaseMs } = this.#o;
    const aging: [LeaseHolder, QueueEntry][] = [];
    for (const holder of holders()) {
      for (const entry of holder.entries()) {
        const { id, dueAtMs } = entry.delivery;
        if (needsRenewal(dueAtMs, untilMs, leaseMs) && !records.lacks(id)) aging.push([holder, entry]);
      }
    }
    return aging;
  }

  async #renewSome(some: readonly [LeaseHolder, QueueEntry][], untilMs: number): Promise<void> {
    const mine = await this.#o.store.renew(
      some.map(([, { delivery }]) => delivery.id),
      untilMs,
    );
    for (const [holder, entry] of some) {
      if (mine.has(entry.delivery.id)) entry.delivery = { ...entry.delivery, dueAtMs: untilMs };
      else holder.drop(entry);
    }
  }
}
