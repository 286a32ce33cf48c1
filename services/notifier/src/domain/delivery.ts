/** The settings with callback URLs (rule C9; noticeEvent: ADR 0055). */
export const destinationSettings = [
  'deviceEvent',
  'soraEvent',
  'soraFileSendEvent',
  'fileUploadEvent',
  'noticeEvent',
] as const;
export type DestinationSetting = (typeof destinationSettings)[number];

/** The settings with URLs that return signed URLs (specification Callbacks 7). */
export const signedUrlsSettings = [
  'soraRecGetPresignedUrl',
  'soraRecGetMultiPresignedUrl',
  'fileUploadGetUrl',
] as const;
export type SignedUrlsSetting = (typeof signedUrlsSettings)[number];

/**
 * pending: to be sent, or in flight. delivered: answered with 2xx. dead: given up, kept so that it can be sent again.
 * replaced: a progress that a later event made obsolete (rule B10). unsent: a notice for the event feed only, from its
 * creation on (ADR 0055).
 */
export const deliveryStatuses = ['pending', 'delivered', 'dead', 'replaced', 'unsent'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/**
 * How a delivery waits for earlier deliveries of its order key. ended: until they have ended (transactions, rule B10).
 * tried: until each was tried once (reports of headsets, rule A20). none: it does not wait.
 */
export type Order = 'ended' | 'tried' | 'none';

/** One attempt, for operators. */
export interface AttemptRecord {
  readonly atMs: number;
  readonly durationMs: number;
  /** HTTP status; 0 if there was no answer. */
  readonly statusCode: number;
  /** Empty if delivered. */
  readonly error: string;
  /** Host and port of the URL, without the rest; absent in release 0.1.0. */
  readonly host?: string;
  /** The beginning of an answer without success, at most 1 KiB; only of the first attempt and the last ones. */
  readonly answer?: string;
}

/** One stored callback to an integrator. */
export interface Delivery {
  /** The notification's id: the webhook-id of every attempt. */
  readonly id: string;
  readonly applicationId: string;
  readonly destination: DestinationSetting;
  /** Deliveries of one order key are sent in the order of `sequence`, as defined by `order`. */
  readonly orderKey: string;
  readonly sequence: number;
  /**
   * 'tried' becomes 'none' after the first attempt. Every order becomes 'none' when the delivery is sent again. A
   * delivery with 'none' neither waits for other deliveries nor delays them.
   */
  readonly order: Order;
  /** Sequence of the previous delivery of its order key; null if not known. */
  readonly after: number | null;
  readonly replaceable: boolean;
  /** Exactly the bytes that are signed and sent. */
  readonly body: Buffer;
  readonly status: DeliveryStatus;
  /** Attempts since it was created or last sent again. */
  readonly attempts: number;
  /** When the cloud received its event, by the cloud's clock. */
  readonly createdAtMs: number;
  /** Start of its time limit (time-limit.ts): `createdAtMs`, or when it was last sent again. */
  readonly budgetFromMs: number;
  readonly nextAttemptAtMs: number;
  /**
   * Pending with an owner: end of the lease. Pending without an owner: earliest time of a claim. Otherwise: time of the
   * end.
   */
  readonly dueAtMs: number;
  /** The instance that works on it; null if none. */
  readonly owner: string | null;
  /**
   * Set after a lease has expired. The former owner may be a paused process that sends the callback when it continues.
   * So this delivery is sent and never replaced: otherwise it might first arrive after a later delivery.
   */
  readonly takenOver: boolean;
  /** 0 while not delivered. */
  readonly deliveredAtMs: number;
  readonly lastOutcome: string;
  /** The first attempt and the last 19 attempts, oldest first. */
  readonly recentAttempts: readonly AttemptRecord[];
  /** The trace that caused it; empty if there is none. */
  readonly traceparent: string;
  /** Text of its FeedPosition (ADR 0053). Absent: it has no event in the log, or release 0.1.0 stored it. */
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

/** Name of a lane: one application's setting. */
export function laneOf(applicationId: string, destination: DestinationSetting): string {
  return `${applicationId}/${destination}`;
}

/** The parts of a lane's name. */
export function laneParts(lane: string): { applicationId: string; destination: DestinationSetting } {
  const cut = lane.lastIndexOf('/');
  return { applicationId: lane.slice(0, cut), destination: lane.slice(cut + 1) as DestinationSetting };
}
