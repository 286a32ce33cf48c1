import type { PendingAuditFields } from '@headset-cloud/rules/audit/record.ts';
import type { Binary } from 'mongodb';
import { type Delivery, type DeliveryChange, laneOf } from '../domain/delivery.ts';

/** A delivery as a document: the body as binary data, and fields for indexes. */
export interface DeliveryDocument extends Omit<Delivery, 'id' | 'body'>, PendingAuditFields {
  _id: string;
  body: Binary | Uint8Array;
  lane: string;
  /**
   * True if a progress, which has sequence 2 or more, may come before it in its order. Few deliveries have this field.
   */
  behindProgress?: true;
  /** First position in the event feed (ADR 0053); absent: none yet, or release 0.1.0 stored the delivery. */
  position?: string;
  /** True if it needs a position in its application's own stream: it has none, or it was sent again. */
  unplaced?: true;
  /** Time since when it needs a position; milliseconds since 1970. */
  unplacedAtMs?: number;
  /** Position in the event feed after a resend. */
  again?: string;
  /** Number of resends at that position. */
  againResends?: number;
  /** Id of the integrator's request that last sent it again. */
  sentAgainBy?: string;
  /** Id of the recovery that last sent it again. */
  recovery?: string;
  /** Devices that a notice's body names by ids of other callbacks. */
  names?: string[];
  /** Number of resends. */
  resends?: number;
  /** Set at its end: MongoDB removes it at this time (TTL). */
  expireAt?: Date;
}

/** Retention of finished deliveries; milliseconds. */
export interface Retention {
  readonly deliveredMs: number;
  readonly deadMs: number;
}

/** Sequence of the first progress of a transaction, after its start. */
const firstProgress = 2;

export function toDocument(delivery: Delivery): DeliveryDocument {
  const { id, position, ...rest } = delivery;
  const behindProgress = delivery.order === 'ended' && delivery.sequence > firstProgress;
  return {
    _id: id,
    ...rest,
    lane: laneOf(delivery.applicationId, delivery.destination),
    ...(behindProgress && { behindProgress }),
    ...(position ? { position } : { unplaced: true, unplacedAtMs: delivery.createdAtMs }),
  };
}

export function fromDocument(document: DeliveryDocument): Delivery {
  const { _id, lane: _lane, behindProgress: _behind, expireAt: _expireAt, body, ...kept } = document;
  const {
    audit: _audit,
    auditAtMs: _auditAtMs,
    unplaced: _unplaced,
    unplacedAtMs: _unplacedAtMs,
    again: _again,
    againResends: _againResends,
    resends: _resends,
    sentAgainBy: _by,
    recovery: _recovery,
    names: _names,
    ...rest
  } = kept;
  return { id: _id, ...rest, body: bytesOf(body) };
}

/**
 * The fields to set for a change, with the time of removal if the change ends the delivery. The retention counts from
 * the time of the write, not from an earlier end: the event feed depends on it (ADR 0053), and a process may be paused
 * between the two.
 */
export function changedFields(
  change: DeliveryChange,
  retention: Retention,
  nowMs: number,
): Partial<DeliveryDocument> {
  if (change.status === undefined || change.status === 'pending' || change.dueAtMs === undefined)
    return change;
  const keptMs = change.status === 'dead' ? retention.deadMs : retention.deliveredMs;
  return { ...change, expireAt: new Date(Math.max(change.dueAtMs, nowMs) + keptMs) };
}

function bytesOf(body: Binary | Uint8Array): Buffer {
  // A copy, because a view would keep the whole answer of the database in memory.
  return Buffer.from(body instanceof Uint8Array ? body : body.value());
}
