import { callbackTypes } from '@headset-cloud/proto/callbacks.ts';
import { type AttemptReason, attemptReasons } from './attempt-reason.ts';
import { type Delivery, type DestinationSetting, laneParts } from './delivery.ts';

/** The types of notices: about callbacks that do not arrive (ADR 0055). */
export const noticeTypes = [
  callbackTypes.destinationFailing,
  callbackTypes.destinationRecovered,
  callbackTypes.deliveriesDead,
] as const;
export type NoticeType = (typeof noticeTypes)[number];

/** A notice as it is decided: from then on it is stored exactly once as a delivery. */
export interface Notice {
  /** Unique for its occasion: the webhook-id. */
  readonly id: string;
  readonly applicationId: string;
  readonly type: NoticeType;
  /** Those of one outage go out in their order; empty: none. */
  readonly orderKey: string;
  readonly sequence: number;
  /** The JSON body. */
  readonly body: string;
  readonly createdAtMs: number;
  /** False: for the event feed only. */
  readonly isSent: boolean;
  /** The devices that the body names. */
  readonly names: readonly string[];
  /** What operators see of it. */
  readonly told: Readonly<Record<string, string | number>>;
}

/** A setting whose address has taken nothing since a time. */
interface OutageFacts {
  readonly lane: string;
  readonly occasion: string;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  /** Deliveries that wait, as far as they were counted. */
  readonly waiting: number;
  readonly isSent: boolean;
  readonly nowMs: number;
}

/** Pure. */
export function failingNotice(facts: OutageFacts & { readonly reason: AttemptReason }): Notice {
  const { reason } = facts;
  const message = attemptReasons[reason];
  return ofOutage(facts, callbackTypes.destinationFailing, 1, { reason, message });
}

/** Pure. */
export function recoveredNotice(facts: OutageFacts): Notice {
  return ofOutage(facts, callbackTypes.destinationRecovered, 2, {});
}

function ofOutage(
  { lane, occasion, sinceMs, waiting, isSent, nowMs }: OutageFacts,
  type: NoticeType,
  sequence: number,
  more: Readonly<Record<string, string>>,
): Notice {
  const { applicationId, destination } = laneParts(lane);
  const orderKey = `notice-${occasion}`;
  return {
    ...{
      id: `${orderKey}-${sequence === 1 ? 'failing' : 'recovered'}`,
      applicationId,
      type,
      orderKey,
      sequence,
    },
    body: JSON.stringify({
      ...{ applicationId, timestamp: nowMs, operationId: type, destination },
      // A clock that was ahead.
      sinceTimestamp: Math.min(sinceMs, nowMs),
      ...more,
      waiting,
    }),
    ...{ createdAtMs: nowMs, isSent, names: [], told: { destination, waiting, ...more } },
  };
}

/** A delivery that was given up, as a notice tells of it. */
export type Death = Pick<Delivery, 'id' | 'createdAtMs' | 'destination'>;

/** About deliveries that were given up, in the order in which they were; at least one. Pure. */
export function deathsNotice({
  applicationId,
  occasion,
  deaths,
  isSent,
  nowMs,
}: {
  readonly applicationId: string;
  readonly occasion: string;
  readonly deaths: readonly Death[];
  readonly isSent: boolean;
  readonly nowMs: number;
}): Notice {
  const type = callbackTypes.deliveriesDead;
  const [first, last] = [deaths[0]?.id ?? '', deaths.at(-1)?.id ?? ''];
  const count = deaths.length;
  const since = new Date(deaths.reduce((least, { createdAtMs }) => Math.min(least, createdAtMs), nowMs));
  return {
    ...{ id: `notice-${occasion}-dead`, applicationId, type, orderKey: '', sequence: 0 },
    body: JSON.stringify({
      ...{ applicationId, timestamp: nowMs, operationId: type, count },
      ...{ firstWebhookId: first, lastWebhookId: last },
      message: 'To send them again, POST recover to .../deliveries/recover.',
      recover: { since: since.toISOString() },
    }),
    ...{ createdAtMs: nowMs, isSent, told: { count } },
    // Ids of what headsets reported name the device.
    names: [...new Set([first, last].flatMap((id) => id.match(/(?<!\d)\d{15}(?!\d)/g) ?? []))],
  };
}

/** True when there is something among them that is told to the setting's own server. */
export function tellsOthers(deaths: readonly { readonly destination: DestinationSetting }[]): boolean {
  return deaths.some(({ destination }) => destination !== 'noticeEvent');
}

/** A notice's delivery. Pure. */
export function deliveryOf(notice: Notice): Delivery {
  const { id, applicationId, orderKey, sequence, body, createdAtMs, isSent } = notice;
  return {
    ...{ id, applicationId, destination: 'noticeEvent', orderKey, sequence },
    order: orderKey === '' ? 'none' : 'ended',
    ...{ after: null, replaceable: false, body: Buffer.from(body) },
    status: isSent ? 'pending' : 'unsent',
    ...{ attempts: 0, createdAtMs, budgetFromMs: createdAtMs },
    nextAttemptAtMs: isSent ? createdAtMs : 0,
    // At once, by every clock: that of the process that made it may be ahead.
    dueAtMs: isSent ? 0 : createdAtMs,
    ...{ owner: null, takenOver: false, deliveredAtMs: 0, lastOutcome: '', recentAttempts: [] },
    traceparent: '',
  };
}
