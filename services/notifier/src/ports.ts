import type { OwedRecord } from '@headset-cloud/kit/audit/record.ts';
import type {
  Delivery,
  DeliveryChange,
  DeliveryStatus,
  DestinationSetting,
  Order,
  SignedUrlsSetting,
} from './domain/delivery.ts';
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

/** Sends one HTTP request; never rejects. */
export interface CallbackSender {
  send(url: URL, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<AttemptResult>;
  close(): Promise<void>;
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
