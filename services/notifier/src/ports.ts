import type { OwedRecord } from '@headset-cloud/kit/audit/record.ts';
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

/** A change to be stored, with what must still be true of the stored delivery. */
export interface ConditionalChange {
  readonly id: string;
  readonly change: DeliveryChange;
  /** The delivery before the change, where it is not stored yet: it is stored with it. */
  readonly whole?: Delivery | undefined;
  /** Stored only while it is pending and this instance owns it; undefined: whatever happened meanwhile. */
  readonly onlyIfOwner: string | undefined;
}

/** With so many predecessors an answer may leave out earlier ones. */
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

/** A lane that has undelivered work, with the time from which some of it may be claimed. */
export interface LaneWork {
  readonly lane: string;
  readonly dueAtMs: number;
}

/** Where deliveries are kept. Failures are transient errors (kit/errors.ts). */
export interface DeliveryStore {
  /** Stores new ones in one write; answers the ids of those that were there already. */
  insert(deliveries: readonly Delivery[]): Promise<ReadonlySet<string>>;
  /** Which of these are stored. */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Makes this instance the owner, until `untilMs`, of up to `limit` deliveries of a lane that are
   * due and owned by nobody (or whose owner's lease ran out), the longest due first.
   */
  claim(
    lane: string,
    limit: number,
    nowMs: number,
    untilMs: number,
  ): Promise<{ claimed: Delivery[]; more: boolean }>;
  /** Renews leases; answers the ids that this instance still owns. */
  renew(ids: readonly string[], untilMs: number): Promise<ReadonlySet<string>>;
  /**
   * Stores changes together, in no particular order: at most one for each delivery. Answers the ids of those
   * that were to be stored whole, have not been delivered, and are another instance's: nothing of them is stored.
   */
  apply(changes: readonly ConditionalChange[]): Promise<ReadonlySet<string>>;
  /** Unfinished ones that are still in that order: at most `predecessorLimit`, the nearest first. */
  predecessors(orderKey: string, before: number, order: Order): Promise<Predecessor[]>;
  /**
   * True when something later of its order key is stored: a progress is useless then. One that was taken
   * over is only where the later one has ended, since what is pending waits for it (rule B10).
   */
  isOvertaken(progress: Delivery): Promise<boolean>;
  /** Those of these that something later of their order key is before in the log. */
  lateOf(progress: readonly Delivery[]): Promise<ReadonlySet<string>>;
  /** Ends an undelivered progress as replaced if nobody works, or may be working, on it. */
  replaceIfFree(id: string, nowMs: number): Promise<boolean>;
  /** Makes waiting deliveries of a lane due at once. */
  pullForward(lane: string, nowMs: number): Promise<void>;
  /**
   * Makes what is due too far ahead due now: what others own beyond `leaseLimitMs`, what nobody owns
   * beyond `pauseLimitMs`. Answers whether there was something.
   */
  recall(lane: string, nowMs: number, leaseLimitMs: number, pauseLimitMs: number): Promise<boolean>;
  /** The first lane by name after `after` that has undelivered work. */
  nextLaneWithWork(after: string): Promise<LaneWork | undefined>;

  get(id: string): Promise<Delivery | undefined>;
  /** By creation, newest first unless said otherwise; without a status those of every status. */
  list(query: {
    applicationId: string;
    status: DeliveryStatus | undefined;
    limit: number;
    oldestFirst: boolean;
  }): Promise<Delivery[]>;
  /** Dead or delivered → pending with a new budget; undefined when it is neither. */
  redeliver(id: string, nowMs: number, record: OwedRecord): Promise<Delivery | undefined>;
  /** Undelivered ones: how many (counted up to a bound), and the oldest one's creation. */
  backlog(): Promise<{ count: number; oldestCreatedAtMs: number | undefined }>;
}

/**
 * Where probes of failing destinations are remembered, for all instances and over restarts: one short
 * list for a destination, not a write for each delivery behind it.
 */
export interface ProbeStore {
  note(destination: string, probe: Probe): Promise<void>;
  /** The newest ones, oldest first. */
  recent(destination: string): Promise<readonly Probe[]>;
}

/** Where callbacks of an application's setting go now, and with which key they are signed. */
export interface DestinationAddress {
  readonly url: URL;
  readonly authenticationKey: string;
}

/** Reads destinations at each attempt (rule A18). */
export interface Destinations {
  /** Undefined: the address or the key is not set. Rejects when devices cannot tell now. */
  get(
    applicationId: string,
    setting: DestinationSetting | SignedUrlsSetting,
  ): Promise<DestinationAddress | undefined>;
}

/** An answer that is read whole. */
export interface BoundedAnswer {
  readonly statusCode: number;
  /** Empty unless the status is 200. */
  readonly body: Buffer;
}

/** One HTTP request whose answer matters. */
export interface BoundedRequester {
  /**
   * Rejects when no complete answer of at most `maxAnswerBytes` comes before `deadline` passes; the
   * error's text says why and holds nothing of the answer.
   */
  post(
    url: URL,
    headers: Record<string, string>,
    body: Uint8Array,
    limits: { readonly maxAnswerBytes: number; readonly deadline: Deadline },
  ): Promise<BoundedAnswer>;
  /** Cuts every connection. */
  close(): Promise<void>;
}

/** One HTTP request whose status matters. */
export interface CallbackRequest extends DestinationAddress {
  /** Signed with the authentication key, which is not sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Sends one HTTP request; never rejects. What is told of the answer holds no key, signature or credentials. */
export interface CallbackSender {
  send(request: CallbackRequest, signal: AbortSignal): Promise<AttemptResult>;
  close(): Promise<void>;
}

/** Behind which delivery a list goes on. */
export interface ListMark {
  /** Of the field that the list is ordered by. */
  readonly atMs: number;
  readonly id: string;
}

/** Which deliveries of an application are meant, as far as indexes know. */
export interface OwnQuery {
  readonly applicationId: string;
  /** Undefined: every state. That and pending are in the order of creation, the others in that of their end. */
  readonly status: DeliveryStatus | undefined;
  readonly destination: DestinationSetting | undefined;
  /** By creation, both included; heeded where that is the order. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
}

/** An application's deliveries, for its integrator. */
export interface OwnDeliveries {
  /** The newest ones behind a mark: at least `count`, if there are so many. */
  newest(query: OwnQuery, after: ListMark | undefined, count: number): Promise<Delivery[]>;
  ofTransaction(applicationId: string, transactionId: number): Promise<Delivery[]>;
  /** Dead or delivered → pending, as `DeliveryStore.redeliver`; `by` names the request that did it. */
  sendAgain(id: string, by: string, nowMs: number, record: OwedRecord): Promise<Delivery | undefined>;
  /** The request that last had it sent again. */
  sentAgainBy(id: string): Promise<string | undefined>;
}

/** Deliveries that are sent again together. */
export interface Recovery {
  readonly recoveryId: string;
  readonly applicationId: string;
  readonly total: number;
  /** So many of them are handed over. */
  readonly next: number;
  readonly beganAtMs: number;
  /** 0: it runs. */
  readonly endedAtMs: number;
}

export interface RecoveryStore {
  /** Those that have ended so and were created since, status by status and setting by setting. */
  ended(query: {
    readonly applicationId: string;
    readonly destination: DestinationSetting | undefined;
    readonly statuses: readonly DeliveryStatus[];
    readonly sinceMs: number;
  }): AsyncIterable<Delivery>;
  /** False: there is one of that id, or another one of the application runs. */
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
  /** One that is due, until `untilMs` this instance's; a second one that goes on with it does no harm. */
  claim(
    nowMs: number,
    untilMs: number,
  ): Promise<(Recovery & { readonly ids: readonly string[]; readonly delivered: boolean }) | undefined>;
  /** Has those sent again that have ended in one of these states and that this recovery has not sent before. */
  sendAgain(
    recoveryId: string,
    ids: readonly string[],
    statuses: readonly DeliveryStatus[],
    nowMs: number,
  ): Promise<void>;
  progress(recoveryId: string, from: number, to: number, dueAtMs: number): Promise<void>;
  end(recovery: Pick<Recovery, 'recoveryId' | 'applicationId'>, nowMs: number): Promise<void>;
}

/** A partition of the log, as the feed knows it (ADR 0053). */
export interface FeedPartition {
  readonly partition: number;
  /** When the topic was made, or made again; seconds since 1970. */
  readonly epoch: number;
  /** The group has committed this offset in this epoch; readers may have passed what is before. */
  readonly offset: number;
}

/** A position in an application's feed. */
export interface FeedKey {
  /** Of the delivery. */
  readonly id: string;
  /** Text of a FeedPosition. */
  readonly position: string;
  /** 0: its first position; otherwise the number of times that it was sent again. */
  readonly resends: number;
  /** When it was created, or sent again; milliseconds since 1970. */
  readonly timeMs: number;
}

/** A delivery that is to get a position of the application's own stream. */
export interface UnplacedDelivery {
  readonly id: string;
  /** Number of times that it was sent again. */
  readonly resends: number;
  /** It has its first position. */
  readonly isAgain: boolean;
}

/** Deliveries that get consecutive numbers of the application's own stream. */
export interface UnplacedList {
  readonly from: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly entries: readonly UnplacedDelivery[];
}

/** Positions of deliveries in feeds (ADR 0053). */
export interface FeedStore {
  partitions(): Promise<FeedPartition[]>;
  /** The one that is there stays. */
  addPartition(partition: FeedPartition): Promise<void>;
  /** Stores a higher offset, if the epoch is still the same. Answers what is stored then. */
  advance(partition: FeedPartition): Promise<FeedPartition>;
  /** Begins a new epoch with offset 0, if the epoch is still the same. */
  renew(partition: FeedPartition, epoch: number): Promise<void>;
  /** Positions between two texts, in order, at most `limit`. */
  keys(range: {
    readonly applicationId: string;
    /** First positions, or those of deliveries that were sent again. */
    readonly field: 'position' | 'again';
    readonly after: string;
    readonly before: string;
    readonly limit: number;
    readonly newestFirst?: boolean;
  }): Promise<FeedKey[]>;
  deliveries(ids: readonly string[]): Promise<ReadonlyMap<string, Delivery>>;
  /** Everything up to `last` has its position; `list` is getting numbers. */
  ownStream(
    applicationId: string,
  ): Promise<{ readonly last: number; readonly list: UnplacedList | undefined }>;
  /** Marked deliveries, the first marked first. */
  unplaced(applicationId: string, limit: number): Promise<UnplacedDelivery[]>;
  /** Stores a list, if the last number is still this one and no list is there. */
  begin(applicationId: string, last: number, list: UnplacedList): Promise<void>;
  /** Completes a list; harmless if that was done before. */
  place(applicationId: string, list: UnplacedList): Promise<void>;
}

/** What was removed, and what may not be removed now. */
export interface ForgottenDeliveries {
  readonly removed: number;
  /** Pending ones, or ones that owe an audit record. */
  readonly left: number;
}

/** What an operator has forgotten (ADR 0047). Callbacks' ids are made of what caused them (ADR 0006). */
export interface ForgetStore {
  /** All of one transaction. */
  ofTransaction(transactionId: number, dryRun: boolean): Promise<ForgottenDeliveries>;
  one(notificationId: string, dryRun: boolean): Promise<ForgottenDeliveries>;
  /** The next ones of what the device's headset reported; in a dry run all of them. */
  reported(deviceId: string, dryRun: boolean): Promise<ForgottenDeliveries & { readonly more: boolean }>;
  /** The next ones of an application, pending or not, and its servers' probes; those that owe a record stay. */
  ofApplication(
    applicationId: string,
  ): Promise<ForgottenDeliveries & { readonly probes: number; readonly more: boolean }>;
  countOfApplication(applicationId: string): Promise<ForgottenDeliveries & { readonly pending: number }>;
}

/** The applications that operators have had forgotten. */
export interface ForgottenApplications {
  /** Their ids, some seconds old. Rejects while the database cannot tell. */
  read(): Promise<{ has(applicationId: string): boolean }>;
  /** Every instance drops the application's notifications by now. */
  isKnownEverywhere(applicationId: string): Promise<boolean>;
}

/** Notices as deliveries, and what they are made of (ADR 0055). */
export interface NoticeStore {
  /** Stores a notice as a delivery. False: it is stored already. */
  insert(notice: Notice): Promise<boolean>;
  /** Pending deliveries of a lane, counted up to a limit. */
  waiting(lane: string): Promise<number>;
  /** Each lane has one at most. */
  outages(): Promise<Outage[]>;
  /** Number of outages that began at `beforeMs` or earlier. */
  countOutages(beforeMs: number): Promise<number>;
  /** Returns the outage of a lane. If there is none, stores one that began at `atMs`. */
  failed(lane: string, atMs: number): Promise<Outage>;
  /** Removes this outage, not a later one of its lane. */
  end(outage: Outage): Promise<void>;
  /** Deliveries that were given up from `fromMs` on and before `toMs`, in the order of their end. */
  dead(fromMs: number, toMs: number): AsyncIterable<Dead>;
}
