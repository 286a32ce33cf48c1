import { createHash } from 'node:crypto';
import { callbackTypes } from '@headset-cloud/proto/callbacks.ts';
import { type AttemptReason, attemptReasons } from './attempt-reason.ts';
import { type Delivery, laneParts } from './delivery.ts';

/** Types of notices about callbacks that fail (ADR 0055). */
export const noticeTypes = [
  callbackTypes.destinationFailing,
  callbackTypes.destinationRecovered,
  callbackTypes.deliveriesDead,
] as const;
export type NoticeType = (typeof noticeTypes)[number];

/** A notice before it is stored as a delivery. */
export interface Notice {
  /** The webhook-id. Every instance, and a repeat after a crash, creates the same id. */
  readonly id: string;
  readonly applicationId: string;
  readonly type: NoticeType;
  /** Notices of one outage are sent in the order of `sequence`; empty: no order. */
  readonly orderKey: string;
  readonly sequence: number;
  /** The JSON body. */
  readonly body: string;
  readonly createdAtMs: number;
  /** False if the notice is for the event feed only. */
  readonly isSent: boolean;
  /** Devices that the body names. */
  readonly names: readonly string[];
  /** Fields of the log line. */
  readonly logFields: Readonly<Record<string, string | number>>;
}

/** A setting whose endpoint has accepted nothing since its first failure. */
export interface Outage {
  readonly lane: string;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
}

/** Ids of the notices of an outage. */
export function outageIds({ lane, sinceMs }: Outage): Record<'orderKey' | 'failing' | 'recovered', string> {
  const orderKey = noticeId(lane, sinceMs);
  return { orderKey, failing: `${orderKey}-failing`, recovered: `${orderKey}-recovered` };
}

interface OutageFacts extends Outage {
  /** Number of pending deliveries, counted up to a limit. */
  readonly waiting: number;
  readonly isSent: boolean;
  readonly nowMs: number;
}

/** Notice that a setting has accepted nothing for a long time. */
export function failingNotice(facts: OutageFacts & { readonly reason: AttemptReason }): Notice {
  const { reason } = facts;
  const message = attemptReasons[reason];
  return ofOutage(facts, callbackTypes.destinationFailing, { reason, message });
}

/** Notice that the setting accepts callbacks again. */
export function recoveredNotice(facts: OutageFacts): Notice {
  return ofOutage(facts, callbackTypes.destinationRecovered, {});
}

function ofOutage(facts: OutageFacts, type: NoticeType, more: Readonly<Record<string, string>>): Notice {
  const { lane, sinceMs, waiting, isSent, nowMs } = facts;
  const { applicationId, destination } = laneParts(lane);
  const { orderKey, failing, recovered } = outageIds(facts);
  const isFirst = type === callbackTypes.destinationFailing;
  return {
    ...{ id: isFirst ? failing : recovered, applicationId, type, orderKey, sequence: isFirst ? 1 : 2 },
    body: JSON.stringify({
      ...{ applicationId, timestamp: nowMs, operationId: type, destination },
      // The first failure may have been dated by a fast clock.
      sinceTimestamp: Math.min(sinceMs, nowMs),
      ...more,
      waiting,
    }),
    ...{ createdAtMs: nowMs, isSent, names: [], logFields: { destination, waiting, ...more } },
  };
}

/** A delivery that was given up. */
export type Dead = Pick<Delivery, 'id' | 'applicationId' | 'destination' | 'createdAtMs' | 'dueAtMs'>;

/** Deliveries of one application that were given up in one interval: one notice. */
export interface DeadGroup {
  readonly applicationId: string;
  /** Start of the interval; milliseconds since 1970. */
  readonly startMs: number;
  readonly count: number;
  readonly firstId: string;
  readonly lastId: string;
  readonly oldestCreatedAtMs: number;
  /** True if one of them is a callback other than a notice. */
  readonly hasCallback: boolean;
}

/** Adds a delivery to its group; undefined: the delivery is the first one. */
export function withDead(group: DeadGroup | undefined, dead: Dead, startMs: number): DeadGroup {
  const { id, applicationId, createdAtMs } = dead;
  return {
    ...{ applicationId, startMs, count: (group?.count ?? 0) + 1 },
    ...{ firstId: group?.firstId ?? id, lastId: id },
    oldestCreatedAtMs: Math.min(group?.oldestCreatedAtMs ?? createdAtMs, createdAtMs),
    hasCallback: group?.hasCallback || dead.destination !== 'noticeEvent',
  };
}

export function deadNoticeId({ applicationId, startMs }: DeadGroup): string {
  return `${noticeId(applicationId, startMs)}-dead`;
}

/** Notice about deliveries that were given up. */
export function deadNotice(group: DeadGroup, isSent: boolean, nowMs: number): Notice {
  const { applicationId, count, firstId, lastId, oldestCreatedAtMs } = group;
  const type = callbackTypes.deliveriesDead;
  return {
    ...{ id: deadNoticeId(group), applicationId, type, orderKey: '', sequence: 0 },
    body: JSON.stringify({
      ...{ applicationId, timestamp: nowMs, operationId: type, count },
      ...{ firstWebhookId: firstId, lastWebhookId: lastId },
      message: 'To send them again, call POST .../deliveries/recover with the value of recover as the body.',
      recover: { since: new Date(Math.min(oldestCreatedAtMs, nowMs)).toISOString() },
    }),
    ...{ createdAtMs: nowMs, isSent, logFields: { count } },
    // Ids of headset reports contain the device.
    names: [...new Set([firstId, lastId].flatMap((id) => id.match(/(?<!\d)\d{15}(?!\d)/g) ?? []))],
  };
}

/** A hash, because application ids may be long. */
function noticeId(subject: string, startMs: number): string {
  const hash = createHash('sha256').update(`${subject} ${startMs}`).digest('hex');
  return `notice-${hash.slice(0, 24)}`;
}

/** Converts a notice to its delivery. */
export function deliveryOf(notice: Notice): Delivery {
  const { id, applicationId, orderKey, sequence, body, createdAtMs, isSent } = notice;
  return {
    ...{ id, applicationId, destination: 'noticeEvent', orderKey, sequence },
    order: orderKey === '' ? 'none' : 'ended',
    ...{ after: null, replaceable: false, body: Buffer.from(body) },
    status: isSent ? 'pending' : 'unsent',
    ...{ attempts: 0, createdAtMs, budgetFromMs: createdAtMs },
    nextAttemptAtMs: isSent ? createdAtMs : 0,
    // Due at once by every clock, because the clock of the creating process may be fast.
    dueAtMs: isSent ? 0 : createdAtMs,
    ...{ owner: null, takenOver: false, deliveredAtMs: 0, lastOutcome: '', recentAttempts: [] },
    traceparent: '',
  };
}
