import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Delivery, DeliveryChange, DeliveryStatus, Order } from '../domain/delivery.ts';

/** A change to be stored, with the condition for the stored delivery. */
export interface ConditionalChange {
  readonly id: string;
  readonly change: DeliveryChange;
  /** Set if the delivery is not stored yet: the delivery before the change. It is stored with the change. */
  readonly whole?: Delivery | undefined;
  /** Stored only while it is pending and this instance owns it; undefined: always stored. */
  readonly onlyIfOwner: string | undefined;
}

/** Maximum predecessors in an answer; earlier ones may be left out. */
export const predecessorLimit = 50;

/** An earlier, unfinished delivery of an order key. */
export interface Predecessor {
  readonly id: string;
  readonly sequence: number;
  readonly owner: string | null;
  readonly dueAtMs: number;
  readonly replaceable: boolean;
  readonly takenOver: boolean;
}

/** A lane with undelivered work, with the time from which some of it may be claimed. */
export interface LaneWork {
  readonly lane: string;
  readonly dueAtMs: number;
}

/** Storage of deliveries. Failures are transient errors (runtime/errors.ts). */
export interface DeliveryStore {
  /** Stores new deliveries in one write. Returns the ids that existed already. */
  insert(deliveries: readonly Delivery[]): Promise<ReadonlySet<string>>;
  /** Returns the ids that are stored. */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Makes this instance the owner, until `untilMs`, of up to `limit` deliveries of a lane that are due and have no
   * owner (or an expired lease), the longest due first.
   */
  claim(
    lane: string,
    limit: number,
    nowMs: number,
    untilMs: number,
  ): Promise<{ claimed: Delivery[]; more: boolean }>;
  /** Renews leases. Returns the ids that this instance still owns. */
  renew(ids: readonly string[], untilMs: number): Promise<ReadonlySet<string>>;
  /**
   * Stores changes together, in any order: at most one for each delivery. Returns the ids of changes with a `whole`
   * delivery that another instance has stored and owns, unless the change is its success; these changes are not stored.
   */
  apply(changes: readonly ConditionalChange[]): Promise<ReadonlySet<string>>;
  /**
   * Pending deliveries of the order key with this `order` and a sequence below `before`, the nearest first; at most
   * `predecessorLimit`.
   */
  predecessors(orderKey: string, before: number, order: Order): Promise<Predecessor[]>;
  /**
   * True if a later event of its order key is stored, which makes the progress obsolete. After a takeover, only a
   * finished later event makes it obsolete, because pending ones wait for it (rule B10).
   */
  isOvertaken(progress: Delivery): Promise<boolean>;
  /** Returns the ids of the progress that comes in the log after a later event of its order key. */
  lateOf(progress: readonly Delivery[]): Promise<ReadonlySet<string>>;
  /** Ends an undelivered progress as replaced, if no instance owns it and none has taken it over. */
  replaceIfFree(id: string, nowMs: number): Promise<boolean>;
  /** Makes waiting deliveries of a lane due at once. */
  pullForward(lane: string, nowMs: number): Promise<void>;
  /**
   * Makes deliveries due now if their due time is too far ahead: beyond `leaseLimitMs` with an owner, beyond
   * `pauseLimitMs` without an owner. Returns whether there were any.
   */
  recall(lane: string, nowMs: number, leaseLimitMs: number, pauseLimitMs: number): Promise<boolean>;
  /** The first lane by name after `after` with undelivered work. */
  nextLaneWithWork(after: string): Promise<LaneWork | undefined>;

  get(id: string): Promise<Delivery | undefined>;
  /**
   * Ordered by creation, newest first by default; without a status, deliveries of every status. `createdAfterMs` (only
   * with `oldestFirst`): only deliveries created later, and all that were created at the same time as the last one, even
   * beyond the limit.
   */
  list(query: {
    applicationId: string;
    status: DeliveryStatus | undefined;
    limit: number;
    oldestFirst: boolean;
    createdAfterMs?: number;
  }): Promise<Delivery[]>;
  /** Sets a dead or delivered delivery to pending with a new time limit; undefined if it is neither. */
  redeliver(id: string, nowMs: number, record: PendingAuditRecord): Promise<Delivery | undefined>;
  /** Undelivered deliveries: their number (counted up to a limit), and the creation time of the oldest. */
  backlog(): Promise<{ count: number; oldestCreatedAtMs: number | undefined }>;
}
