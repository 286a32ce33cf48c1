import type { OwedRecord } from '@headset-cloud/rules/audit/record.ts';
import type {
  Delivery,
  DeliveryChange,
  DeliveryStatus,
  DestinationSetting,
  Order,
  SignedUrlsSetting,
} from './domain/delivery.ts';
import type { Dead, Notice, Outage } from './domain/notice.ts';
import type { AttemptResult } from './domain/outcome.ts';
import type { Probe } from './domain/time-limit.ts';
import type { Deadline } from './http/deadline.ts';

/** A change to be stored, with the condition for the stored delivery. */
export interface ConditionalChange {
  readonly id: string;
  readonly change: DeliveryChange;
  /** The delivery before the change if it is not stored yet; it is stored with the change. */
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
   * Stores changes together, in any order: at most one for each delivery. Returns the ids of deliveries that were to be
   * stored completely but belong to another instance and are not delivered; nothing of them is stored.
   */
  apply(changes: readonly ConditionalChange[]): Promise<ReadonlySet<string>>;
  /** Unfinished deliveries in that order: at most `predecessorLimit`, the nearest first. */
  predecessors(orderKey: string, before: number, order: Order): Promise<Predecessor[]>;
  /**
   * True if a later event of its order key is stored, which makes the progress obsolete. After a takeover, only a
   * finished later event makes it obsolete, because pending ones wait for it (rule B10).
   */
  isOvertaken(progress: Delivery): Promise<boolean>;
  /** Returns the progress after which a later event of its order key comes in the log. */
  lateOf(progress: readonly Delivery[]): Promise<ReadonlySet<string>>;
  /** Ends an undelivered progress as replaced, if no instance works or may be working on it. */
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
  /** Ordered by creation, newest first by default; without a status, deliveries of every status. */
  list(query: {
    applicationId: string;
    status: DeliveryStatus | undefined;
    limit: number;
    oldestFirst: boolean;
  }): Promise<Delivery[]>;
  /** Sets a dead or delivered delivery to pending with a new time limit; undefined if it is neither. */
  redeliver(id: string, nowMs: number, record: OwedRecord): Promise<Delivery | undefined>;
  /** Undelivered deliveries: their number (counted up to a limit), and the creation time of the oldest. */
  backlog(): Promise<{ count: number; oldestCreatedAtMs: number | undefined }>;
}

/**
 * Stores probes of failing destinations, for all instances and over restarts: one short list per destination instead of
 * a write for each waiting delivery.
 */
export interface ProbeStore {
  note(destination: string, probe: Probe): Promise<void>;
  /** The newest probes, oldest first. */
  recent(destination: string): Promise<readonly Probe[]>;
}

/** Current URL for callbacks of an application's setting, and the key that signs them. */
export interface DestinationAddress {
  readonly url: URL;
  readonly authenticationKey: string;
}

/** Reads destinations at each attempt (rule A18). */
export interface Destinations {
  /** Undefined if the address or the key is not set. Rejects when devices is unavailable. */
  get(
    applicationId: string,
    setting: DestinationSetting | SignedUrlsSetting,
  ): Promise<DestinationAddress | undefined>;
}

/** An answer that is read completely. */
export interface BoundedAnswer {
  readonly statusCode: number;
  /** Empty unless the status is 200. */
  readonly body: Buffer;
}

/** Makes one HTTP request and returns its answer. */
export interface BoundedRequester {
  /**
   * Rejects when no complete answer of at most `maxAnswerBytes` arrives before `deadline`. The error's text has the
   * reason and no text of the answer.
   */
  post(
    url: URL,
    headers: Record<string, string>,
    body: Uint8Array,
    limits: { readonly maxAnswerBytes: number; readonly deadline: Deadline },
  ): Promise<BoundedAnswer>;
  /** Closes every connection. */
  close(): Promise<void>;
}

/** One HTTP request of which only the status is used. */
export interface CallbackRequest extends DestinationAddress {
  /** Signed with the authentication key, which is not sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Sends one HTTP request; never rejects. The reported answer contains no key, signature or credentials. */
export interface CallbackSender {
  send(request: CallbackRequest, signal: AbortSignal): Promise<AttemptResult>;
  close(): Promise<void>;
}

/** Position after which a list continues. */
export interface ListMark {
  /** Value of the field that the list is ordered by. */
  readonly atMs: number;
  readonly id: string;
}

/** Filter of an application's deliveries that indexes support. */
export interface OwnQuery {
  readonly applicationId: string;
  /**
   * Undefined for every state. Then, and for pending, the order is by creation; for other states by the time of the
   * end.
   */
  readonly status: DeliveryStatus | undefined;
  readonly destination: DestinationSetting | undefined;
  /** Range of creation times, both included; used only if the order is by creation. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
}

/** An application's deliveries, for its integrator. */
export interface OwnDeliveries {
  /** The newest deliveries after a mark: at least `count`, if there are so many. */
  newest(query: OwnQuery, after: ListMark | undefined, count: number): Promise<Delivery[]>;
  ofTransaction(applicationId: string, transactionId: number): Promise<Delivery[]>;
  /** Sets a dead or delivered delivery to pending, like `DeliveryStore.redeliver`; `by` is the id of the request. */
  sendAgain(id: string, by: string, nowMs: number, record: OwedRecord): Promise<Delivery | undefined>;
  /** Id of the request that last sent it again. */
  sentAgainBy(id: string): Promise<string | undefined>;
}

/** Deliveries that are sent again together. */
export interface Recovery {
  readonly recoveryId: string;
  readonly applicationId: string;
  readonly total: number;
  /** Number of deliveries that were sent. */
  readonly next: number;
  readonly beganAtMs: number;
  /** 0 while it runs. */
  readonly endedAtMs: number;
}

export interface RecoveryStore {
  /** Deliveries with this end that were created since, status by status and setting by setting. */
  ended(query: {
    readonly applicationId: string;
    readonly destination: DestinationSetting | undefined;
    readonly statuses: readonly DeliveryStatus[];
    readonly sinceMs: number;
  }): AsyncIterable<Delivery>;
  /** False if the id exists, or another recovery of the application runs. */
  begin(
    recovery: {
      readonly recoveryId: string;
      readonly applicationId: string;
      readonly ids: readonly string[];
      readonly delivered: boolean;
      readonly nowMs: number;
    },
    record: OwedRecord,
  ): Promise<boolean>;
  get(recoveryId: string): Promise<Recovery | undefined>;
  runningOf(applicationId: string): Promise<Recovery | undefined>;
  /** Claims a recovery that is due until `untilMs`. A second instance that continues it does no harm. */
  claim(
    nowMs: number,
    untilMs: number,
  ): Promise<(Recovery & { readonly ids: readonly string[]; readonly delivered: boolean }) | undefined>;
  /** Sends deliveries again that have ended in one of these states and that this recovery has not sent before. */
  sendAgain(
    recoveryId: string,
    ids: readonly string[],
    statuses: readonly DeliveryStatus[],
    nowMs: number,
  ): Promise<void>;
  progress(recoveryId: string, from: number, to: number, dueAtMs: number): Promise<void>;
  end(recovery: Pick<Recovery, 'recoveryId' | 'applicationId'>, nowMs: number): Promise<void>;
}

/** A partition of the log, as stored for the feed (ADR 0053). */
export interface FeedPartition {
  readonly partition: number;
  /** Creation time of the topic; seconds since 1970. */
  readonly epoch: number;
  /** The group has committed this offset in this epoch. Readers may have passed earlier events. */
  readonly offset: number;
}

/** A position in an application's feed. */
export interface FeedKey {
  /** Id of the delivery. */
  readonly id: string;
  /** Text of a FeedPosition. */
  readonly position: string;
  /** 0 for its first position; otherwise the number of resends. */
  readonly resends: number;
  /** Time of its creation, or of the resend; milliseconds since 1970. */
  readonly timeMs: number;
}

/** A delivery that needs a position in the application's own stream. */
export interface UnplacedDelivery {
  readonly id: string;
  /** Number of resends. */
  readonly resends: number;
  /** True if it already has its first position. */
  readonly isAgain: boolean;
}

/** Deliveries that get consecutive numbers in the application's own stream. */
export interface UnplacedList {
  readonly from: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly entries: readonly UnplacedDelivery[];
}

/** Positions of deliveries in feeds (ADR 0053). */
export interface FeedStore {
  partitions(): Promise<FeedPartition[]>;
  /** Stores a partition if there is none. */
  addPartition(partition: FeedPartition): Promise<void>;
  /** Stores a higher offset, if the epoch has not changed. Returns the stored partition. */
  advance(partition: FeedPartition): Promise<FeedPartition>;
  /** Starts a new epoch with offset 0, if the epoch has not changed. */
  renew(partition: FeedPartition, epoch: number): Promise<void>;
  /** Positions between two texts, in order, at most `limit`. */
  keys(range: {
    readonly applicationId: string;
    /** First positions, or positions of resends. */
    readonly field: 'position' | 'again';
    readonly after: string;
    readonly before: string;
    readonly limit: number;
    readonly newestFirst?: boolean;
  }): Promise<FeedKey[]>;
  deliveries(ids: readonly string[]): Promise<ReadonlyMap<string, Delivery>>;
  /** Every delivery up to `last` has its position; `list` is getting numbers. */
  ownStream(
    applicationId: string,
  ): Promise<{ readonly last: number; readonly list: UnplacedList | undefined }>;
  /** Marked deliveries, in the order of their marks. */
  unplaced(applicationId: string, limit: number): Promise<UnplacedDelivery[]>;
  /** Stores a list, if the last number has not changed and there is no list. */
  begin(applicationId: string, last: number, list: UnplacedList): Promise<void>;
  /** Completes a list; may be repeated. */
  place(applicationId: string, list: UnplacedList): Promise<void>;
}

/** Number of removed deliveries, and of deliveries that must not be removed now. */
export interface ForgottenDeliveries {
  readonly removed: number;
  /** Pending deliveries, or deliveries with a pending audit record. */
  readonly left: number;
}

/** Removes data that operators want forgotten (ADR 0047). Callback ids contain their cause (ADR 0006). */
export interface ForgetStore {
  /** All deliveries of one transaction. */
  ofTransaction(transactionId: number, dryRun: boolean): Promise<ForgottenDeliveries>;
  one(notificationId: string, dryRun: boolean): Promise<ForgottenDeliveries>;
  /** The next deliveries of reports of the device's headset; in a dry run all of them. */
  reported(deviceId: string, dryRun: boolean): Promise<ForgottenDeliveries & { readonly more: boolean }>;
  /**
   * The next deliveries of an application, pending or not, and probes of its servers. Deliveries with a pending audit
   * record stay.
   */
  ofApplication(
    applicationId: string,
  ): Promise<ForgottenDeliveries & { readonly probes: number; readonly more: boolean }>;
  countOfApplication(applicationId: string): Promise<ForgottenDeliveries & { readonly pending: number }>;
}

/** The applications that operators want forgotten. */
export interface ForgottenApplications {
  /** Their ids, some seconds old. Rejects while the database is unavailable. */
  read(): Promise<{ has(applicationId: string): boolean }>;
  /** True if every instance drops the application's notifications by now. */
  isKnownEverywhere(applicationId: string): Promise<boolean>;
}

/** Notices as deliveries, and the data for them (ADR 0055). */
export interface NoticeStore {
  /** Stores a notice as a delivery. False if it is stored already. */
  insert(notice: Notice): Promise<boolean>;
  /** Pending deliveries of a lane, counted up to a limit. */
  waiting(lane: string): Promise<number>;
  /** Each lane has at most one outage. */
  outages(): Promise<Outage[]>;
  /** Number of outages that began at `beforeMs` or earlier. */
  countOutages(beforeMs: number): Promise<number>;
  /** Returns the outage of a lane. Stores an outage that began at `atMs` if there is none. */
  failed(lane: string, atMs: number): Promise<Outage>;
  /** Removes this outage, but not a later outage of its lane. */
  end(outage: Outage): Promise<void>;
  /** Deliveries that became dead from `fromMs` on and before `toMs`, in the order of their end. */
  dead(fromMs: number, toMs: number): AsyncIterable<Dead>;
}
