import { type PendingAuditRecord, withAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import { coalescedReader } from '@headset-cloud/store/coalesced.ts';
import type { Filter } from '@headset-cloud/store/operations.ts';
import type { Store, StoreCollection } from '@headset-cloud/store/types.ts';
import {
  type Delivery,
  type DeliveryStatus,
  deliveryStatuses,
  destinationSettings,
  laneOf,
  type Order,
} from '../domain/delivery.ts';
import { ended } from '../domain/outcome.ts';
import type { ConditionalChange, DeliveryStore, LaneWork, Predecessor } from '../ports/delivery-store.ts';
import { predecessorLimit } from '../ports/delivery-store.ts';
import {
  changedFields,
  type DeliveryDocument,
  fromDocument,
  type Retention,
  toDocument,
} from './documents.ts';
import { deliveriesCollection } from './indexes.ts';

/** Maximum undelivered deliveries that a metrics scrape counts. */
const countLimit = 100_000;
/** Maximum extension of a lease beyond the requested end, if many claims are made in one moment; milliseconds. */
const mostAheadMs = 1000;

/** Deliveries in MongoDB. Every change of an owner is one conditional update. */
export class MongoDeliveryStore implements DeliveryStore {
  readonly #deliveries: StoreCollection<DeliveryDocument>;
  /** Shared by the batches of all partitions. */
  readonly #knows: (id: string) => Promise<{ _id: string } | undefined>;
  readonly #instanceId: string;
  readonly #retention: Retention;
  readonly #clock: Clock;
  #lastLeaseEndMs = Number.NEGATIVE_INFINITY;

  constructor(store: Store, instanceId: string, retention: Retention, clock: Clock = systemClock) {
    this.#deliveries = store.collection<DeliveryDocument>(deliveriesCollection);
    this.#knows = coalescedReader(this.#deliveries, { _id: 1 });
    this.#instanceId = instanceId;
    this.#retention = retention;
    this.#clock = clock;
  }

  async insert(deliveries: readonly Delivery[]): Promise<ReadonlySet<string>> {
    return await this.#insert(deliveries.map(toDocument));
  }

  /** Returns the ids that existed already. */
  async #insert(documents: DeliveryDocument[]): Promise<Set<string>> {
    const known = new Set<string>();
    if (documents.length === 0) return known;
    try {
      await this.#deliveries.insertMany(documents, { ordered: false });
    } catch (error) {
      for (const index of duplicateIndexes(error)) known.add((documents[index] as DeliveryDocument)._id);
    }
    return known;
  }

  async claim(lane: string, limit: number, nowMs: number, leaseEndMs: number) {
    const untilMs = this.#distinctEnd(leaseEndMs);
    const due = { status: 'pending', lane, dueAtMs: { $lte: nowMs } } as const;
    const found = await this.#deliveries.find(due, { sort: { dueAtMs: 1 }, limit }).toArray();
    const more = found.length === limit;
    const free = found.filter((d) => d.owner === null);
    const expired = found.filter((d) => d.owner !== null);
    const [claimedFree, claimedExpired] = await Promise.all([
      this.#take(free, { owner: null }, { owner: this.#instanceId, dueAtMs: untilMs }),
      this.#take(
        expired,
        { owner: { $ne: null } },
        { owner: this.#instanceId, dueAtMs: untilMs, takenOver: true },
      ),
    ]);
    const won = new Map([...claimedFree, ...claimedExpired].map((d) => [d._id, d]));
    // In the order of their due times.
    const claimed = found.flatMap((d) => {
      const document = won.get(d._id);
      return document ? [fromDocument(document)] : [];
    });
    return { claimed, more };
  }

  /**
   * End of a lease that no other claim of this instance has, because it identifies the deliveries of the claim: claims
   * in the same moment get different ends. After the clock was set back the ends follow the clock.
   */
  #distinctEnd(leaseEndMs: number): number {
    const aheadMs = this.#lastLeaseEndMs - leaseEndMs;
    this.#lastLeaseEndMs = aheadMs >= 0 && aheadMs < mostAheadMs ? this.#lastLeaseEndMs + 1 : leaseEndMs;
    return this.#lastLeaseEndMs;
  }

  async #take(
    found: readonly DeliveryDocument[],
    seen: { owner: null } | { owner: { $ne: null } },
    lease: Partial<DeliveryDocument>,
  ): Promise<DeliveryDocument[]> {
    const first = found[0];
    if (!first) return [];
    const ids = found.map((d) => d._id);
    const lastDueAtMs = Math.max(...found.map((d) => d.dueAtMs));
    const { modifiedCount } = await this.#deliveries.updateMany(
      { _id: { $in: ids }, status: 'pending', dueAtMs: { $lte: lastDueAtMs }, ...seen },
      { $set: lease },
    );
    if (modifiedCount === found.length) return found.map((d) => ({ ...d, ...lease }));
    // Another instance has claimed some of them. Owner and end of the lease identify the deliveries of this claim.
    return await this.#deliveries
      .find({
        _id: { $in: ids },
        status: 'pending',
        owner: this.#instanceId,
        dueAtMs: lease.dueAtMs as number,
      })
      .toArray();
  }

  async renew(ids: readonly string[], untilMs: number): Promise<ReadonlySet<string>> {
    const mine = { _id: { $in: [...ids] }, status: 'pending', owner: this.#instanceId } as const;
    const { matchedCount } = await this.#deliveries.updateMany(mine, { $set: { dueAtMs: untilMs } });
    if (matchedCount === ids.length) return new Set(ids);
    const left = await this.#deliveries.find(mine, { projection: { _id: 1 } }).toArray();
    return new Set(left.map((d) => d._id));
  }

  async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await Promise.all(ids.map((id) => this.#knows(id)));
    return new Set(found.flatMap((document) => document?._id ?? []));
  }

  async apply(changes: readonly ConditionalChange[]): Promise<ReadonlySet<string>> {
    const [lost] = await Promise.all([
      this.#record(changes.filter(({ whole }) => whole !== undefined)),
      this.#change(changes.filter(({ whole }) => whole === undefined)),
    ]);
    return lost;
  }

  /**
   * Stores deliveries with their outcome. A delivery that is stored already was stored by an earlier try of this write,
   * whose answer was lost, or by another instance that has consumed the event, too. In both cases a success is stored.
   */
  async #record(changes: readonly ConditionalChange[]): Promise<ReadonlySet<string>> {
    const known = await this.#insert(
      changes.map(({ whole, change }) => ({
        ...toDocument(whole as Delivery),
        ...changedFields(change, this.#retention, this.#clock.now()),
      })),
    );
    if (known.size === 0) return known;
    const stored = changes.filter(({ id }) => known.has(id));
    await this.#change(stored.filter(({ change }) => change.status === 'delivered'));
    const open = stored.filter(({ change }) => change.status !== 'delivered').map(({ id }) => id);
    if (open.length === 0) return new Set();
    const mine = await this.#deliveries
      .find({ _id: { $in: open }, owner: this.#instanceId }, { projection: { _id: 1 } })
      .toArray();
    return new Set(open).difference(new Set(mine.map((d) => d._id)));
  }

  async #change(changes: readonly ConditionalChange[]): Promise<void> {
    if (changes.length === 0) return;
    await this.#deliveries.bulkWrite(
      changes.map(({ id, change, onlyIfOwner }) => ({
        updateOne: {
          filter:
            onlyIfOwner === undefined ? { _id: id } : { _id: id, status: 'pending', owner: onlyIfOwner },
          update: { $set: changedFields(change, this.#retention, this.#clock.now()) },
        },
      })),
      { ordered: false },
    );
  }

  async predecessors(orderKey: string, before: number, order: Order): Promise<Predecessor[]> {
    const found = await this.#deliveries
      .find(
        { status: 'pending', orderKey, order, sequence: { $lt: before } },
        {
          sort: { sequence: -1 },
          limit: predecessorLimit,
          projection: { sequence: 1, owner: 1, dueAtMs: 1, replaceable: 1, takenOver: 1 },
        },
      )
      .toArray();
    return found.map(({ _id, sequence, owner, dueAtMs, replaceable, takenOver }) => {
      return { id: _id, sequence, owner, dueAtMs, replaceable, takenOver };
    });
  }

  async isOvertaken({ orderKey, sequence, takenOver }: Delivery): Promise<boolean> {
    const later = { behindProgress: true, orderKey, sequence: { $gt: sequence } } as const;
    const found = await this.#deliveries.findOne(
      takenOver ? { ...later, status: { $ne: 'pending' } } : later,
      { projection: { _id: 1 } },
    );
    return found !== null;
  }

  async lateOf(progress: readonly Delivery[]): Promise<ReadonlySet<string>> {
    if (progress.length === 0) return new Set();
    const later = progress.map(({ orderKey, sequence }) => ({ orderKey, sequence: { $gt: sequence } }));
    const found = await this.#deliveries
      .find({ behindProgress: true, $or: later } as Filter<DeliveryDocument>, {
        projection: { orderKey: 1, sequence: 1, position: 1 },
      })
      .toArray();
    const isBehind = ({ orderKey, sequence, position = '' }: Delivery) =>
      found.some(
        (one) =>
          one.orderKey === orderKey &&
          one.sequence > sequence &&
          // A position is unknown for a replayed dead letter, or if release 0.1.0 stored the delivery.
          (position === '' || (one.position ?? '') < position),
      );
    return new Set(progress.filter(isBehind).map(({ id }) => id));
  }

  async replaceIfFree(id: string, nowMs: number): Promise<boolean> {
    const { matchedCount } = await this.#deliveries.updateOne(
      { _id: id, status: 'pending', owner: null, takenOver: false, replaceable: true },
      { $set: changedFields(ended('replaced', nowMs), this.#retention, nowMs) },
    );
    return matchedCount === 1;
  }

  async pullForward(lane: string, nowMs: number): Promise<void> {
    await this.#deliveries.updateMany(
      { status: 'pending', lane, dueAtMs: { $gt: nowMs }, owner: null },
      { $set: { dueAtMs: nowMs, nextAttemptAtMs: nowMs } },
    );
  }

  async recall(lane: string, nowMs: number, leaseLimitMs: number, pauseLimitMs: number): Promise<boolean> {
    const pending = { status: 'pending', lane } as const;
    const now = { dueAtMs: nowMs };
    const [owned, waiting] = await Promise.all([
      this.#deliveries.updateMany(
        { ...pending, dueAtMs: { $gt: leaseLimitMs }, owner: { $nin: [null, this.#instanceId] } },
        { $set: { ...now, owner: null, takenOver: true } },
      ),
      this.#deliveries.updateMany(
        { ...pending, dueAtMs: { $gt: pauseLimitMs }, owner: null },
        { $set: { ...now, nextAttemptAtMs: nowMs } },
      ),
    ]);
    return owned.modifiedCount + waiting.modifiedCount > 0;
  }

  async nextLaneWithWork(after: string): Promise<LaneWork | undefined> {
    const [first] = await this.#deliveries
      .find(
        { status: 'pending', lane: { $gt: after } },
        { sort: { lane: 1, dueAtMs: 1 }, limit: 1, projection: { lane: 1, dueAtMs: 1 } },
      )
      .toArray();
    return first && { lane: first.lane, dueAtMs: first.dueAtMs };
  }

  async get(id: string): Promise<Delivery | undefined> {
    const document = await this.#deliveries.findOne({ _id: id });
    return document ? fromDocument(document) : undefined;
  }

  async list(query: {
    applicationId: string;
    status: DeliveryStatus | undefined;
    limit: number;
    oldestFirst: boolean;
    createdAfterMs?: number;
  }) {
    const { applicationId, limit, oldestFirst, createdAfterMs } = query;
    const direction = oldestFirst ? 1 : -1;
    const statuses = query.status ? [query.status] : deliveryStatuses;
    const filters: Filter<DeliveryDocument>[] =
      applicationId === ''
        ? // One indexed query for each status, so that a rare status is found without a scan.
          statuses.map((status) => ({ status }))
        : [listFilter(applicationId, query.status)];
    const created = createdAfterMs === undefined ? {} : { createdAtMs: { $gt: createdAfterMs } };
    // Never in the order of the due time: an old delivery may be retried or end after all newer ones.
    const sort = { createdAtMs: direction } as const;
    const queries = filters.map((filter) =>
      this.#deliveries.find({ ...filter, ...created }, { sort, limit }).toArray(),
    );
    const found = (await Promise.all(queries)).flat();
    const page = found.sort((a, b) => direction * (a.createdAtMs - b.createdAtMs)).slice(0, limit);
    const last = page.at(-1);
    if (createdAfterMs === undefined || !last || page.length < limit) return page.map(fromDocument);
    // The limit may have left out deliveries that were created at the same time as the last one.
    const { createdAtMs } = last;
    const ofLast = filters.map((filter) => this.#deliveries.find({ ...filter, createdAtMs }).toArray());
    const before = page.filter((one) => one.createdAtMs < createdAtMs);
    return [...before, ...(await Promise.all(ofLast)).flat()].map(fromDocument);
  }

  async redeliver(id: string, nowMs: number, record: PendingAuditRecord): Promise<Delivery | undefined> {
    const document = await this.#deliveries.findOneAndUpdate(
      { _id: id, status: { $in: ['dead', 'delivered'] } },
      withAuditRecord<DeliveryDocument>(sentAgain(nowMs), record),
      { returnDocument: 'after' },
    );
    return document ? fromDocument(document) : undefined;
  }

  async backlog() {
    const [count, oldest] = await Promise.all([
      this.#deliveries.countDocuments({ status: 'pending' }, { limit: countLimit }),
      this.#deliveries
        .find({ status: 'pending' }, { sort: { createdAtMs: 1 }, limit: 1, projection: { createdAtMs: 1 } })
        .toArray(),
    ]);
    return { count, oldestCreatedAtMs: oldest[0]?.createdAtMs };
  }
}

/**
 * Filter of an application's deliveries for a list in the order of creation. Pending and dead deliveries are few: they
 * are found by lane and sorted. The others are read in the order of creation.
 */
function listFilter(applicationId: string, status: DeliveryStatus | undefined): Filter<DeliveryDocument> {
  if (status === undefined) return { applicationId };
  if (status !== 'pending' && status !== 'dead') return { applicationId, status };
  return { status, lane: { $in: destinationSettings.map((setting) => laneOf(applicationId, setting)) } };
}

/** The update that sets a finished delivery to pending with a new time limit. `more`: further fields to set. */
export function sentAgain(nowMs: number, more: Pick<DeliveryDocument, 'sentAgainBy' | 'recovery'> = {}) {
  return {
    $set: {
      ...more,
      status: 'pending',
      attempts: 0,
      owner: null,
      takenOver: false,
      order: 'none',
      deliveredAtMs: 0,
      nextAttemptAtMs: nowMs,
      dueAtMs: nowMs,
      budgetFromMs: nowMs,
      unplaced: true,
      unplacedAtMs: nowMs,
    },
    $inc: { resends: 1 },
    $unset: { expireAt: '' },
  } as const;
}

/**
 * Indexes of the deliveries that existed already, if duplicates are the only errors. Rethrows any other error: the
 * batch is repeated.
 */
function duplicateIndexes(error: unknown): number[] {
  const { writeErrors: one, result } = error as {
    writeErrors?: unknown;
    result?: { getWriteConcernError?(): unknown };
  };
  if (result?.getWriteConcernError?.()) throw error;
  const errors = (Array.isArray(one) ? one : one ? [one] : []) as { code?: unknown; index: number }[];
  if (errors.length === 0 || errors.some((e) => e.code !== 11000)) throw error;
  return errors.map((e) => e.index);
}
