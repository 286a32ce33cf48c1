/** The settings fields that callbacks go to (rule C9; noticeEvent: ADR 0055). */
export const destinationSettings = [
  'deviceEvent',
  'soraEvent',
  'soraFileSendEvent',
  'fileUploadEvent',
  'noticeEvent',
] as const;
export type DestinationSetting = (typeof destinationSettings)[number];

/** The settings fields that signed URLs are asked from (specification Callbacks 7). */
export const signedUrlsSettings = [
  'soraRecGetPresignedUrl',
  'soraRecGetMultiPresignedUrl',
  'fileUploadGetUrl',
] as const;
export type SignedUrlsSetting = (typeof signedUrlsSettings)[number];

/**
 * pending: to be sent, or on its way. delivered: answered with 2xx. dead: given up, kept to be sent
 * again by an operator. replaced: a progress that a later event made useless (rule B10). unsent: a notice that is for
 * the event feed only, from its beginning on (ADR 0055).
 */
export const deliveryStatuses = ['pending', 'delivered', 'dead', 'replaced', 'unsent'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/**
 * What a delivery waits for, of its order key: until the earlier ones have ended (a transaction's,
 * rule B10), until they were tried once (what a headset reported, rule A20), or for nothing.
 */
export type Order = 'ended' | 'tried' | 'none';

/** One attempt, as operators see it. */
export interface AttemptRecord {
  readonly atMs: number;
  readonly durationMs: number;
  /** HTTP status; 0 when there was no answer. */
  readonly statusCode: number;
  /** Empty when delivered. */
  readonly error: string;
  /** Where it went: host and port, nothing else of the URL; absent in release 0.1.0. */
  readonly host?: string;
  /** The beginning of an answer that was no success, at most 1 KiB; of the first attempt and the last ones only. */
  readonly answer?: string;
}

/** One callback to an integrator, as it is stored. */
export interface Delivery {
  /** The notification's id: the webhook-id of every attempt. */
  readonly id: string;
  readonly applicationId: string;
  readonly destination: DestinationSetting;
  /** Deliveries of one order key go out in the order of `sequence`, as `order` says. */
  readonly orderKey: string;
  readonly sequence: number;
  /**
   * 'none' also once it was tried, if that is what others wait for, and once an operator sent it again:
   * it then neither waits for others nor holds them up.
   */
  readonly order: Order;
  /** The sequence of the one that was stored just before it under its order key; null: not known. */
  readonly after: number | null;
  readonly replaceable: boolean;
  /** Exactly as it is signed and sent. */
  readonly body: Buffer;
  readonly status: DeliveryStatus;
  /** Attempts of the present budget. */
  readonly attempts: number;
  /** When the cloud took its event in, by the cloud's clock. */
  readonly createdAtMs: number;
  /** From here its time counts (time-limit.ts): `createdAtMs`, or when an operator had it sent again. */
  readonly budgetFromMs: number;
  readonly nextAttemptAtMs: number;
  /**
   * Pending with an owner: the end of its lease. Pending without: when it may be claimed. Otherwise:
   * when it ended.
   */
  readonly dueAtMs: number;
  /** The instance that works on it; null: none. */
  readonly owner: string | null;
  /**
   * An owner's lease ran out once, and that owner may be a stopped process that still sends it. So it is
   * never replaced: if it were, it might first arrive after a later one.
   */
  readonly takenOver: boolean;
  /** 0 while undelivered. */
  readonly deliveredAtMs: number;
  readonly lastOutcome: string;
  /** The first one and the last 19, oldest first. */
  readonly recentAttempts: readonly AttemptRecord[];
  /** The trace that caused it; empty: none. */
  readonly traceparent: string;
  /** Text of its FeedPosition in the log (ADR 0053). Absent: it has no event there, or was stored by release 0.1.0. */
  readonly position?: string | undefined;
}

/** The fields that change after a delivery was stored. */
export type DeliveryChange = Partial<
  { readonly status: Exclude<DeliveryStatus, 'unsent'> } & Pick<
    Delivery,
    | 'order'
    | 'attempts'
    | 'nextAttemptAtMs'
    | 'dueAtMs'
    | 'owner'
    | 'deliveredAtMs'
    | 'lastOutcome'
    | 'recentAttempts'
  >
>;

/** What is worked on together: one application's setting. */
export function laneOf(applicationId: string, destination: DestinationSetting): string {
  return `${applicationId}/${destination}`;
}

/** The parts of a lane's name. */
export function laneParts(lane: string): { applicationId: string; destination: DestinationSetting } {
  const cut = lane.lastIndexOf('/');
  return { applicationId: lane.slice(0, cut), destination: lane.slice(cut + 1) as DestinationSetting };
}
