import type { OwingDocument } from '@headset-cloud/kit/audit/record.ts';
import type { Binary } from 'mongodb';
import { type Delivery, type DeliveryChange, laneOf } from '../domain/delivery.ts';

/** A delivery as a document: the body as binary data, and what indexes need. */
export interface DeliveryDocument extends Omit<Delivery, 'id' | 'body'>, OwingDocument {
  _id: string;
  body: Binary | Uint8Array;
  lane: string;
  /** It may stand behind a progress, which has the second place or a later one: few deliveries do. */
  behindProgress?: true;
  /** First position in the event feed (ADR 0053); absent: none yet, or of release 0.1.0. */
  position?: string;
  /** It is to get a position of its application's own stream: it has none, or it was sent again. */
  unplaced?: true;
  /** Since when; milliseconds since 1970. */
  unplacedAtMs?: number;
  /** Position in the event feed because it was sent again. */
  again?: string;
  /** How many times it had been sent again then. */
  againResends?: number;
  /** The request of an integrator that last had it sent again. */
  sentAgainBy?: string;
  /** The recovery that last sent it again. */
  recovery?: string;
  /** The devices that a notice's body names by ids of others' callbacks. */
  names?: string[];
  /** How many times it was sent again. */
  resends?: number;
  /** Set when it has ended: MongoDB removes it then (TTL). */
  expireAt?: Date;
}

/** How long ended deliveries are kept; milliseconds. */
export interface Retention {
  readonly deliveredMs: number;
  readonly deadMs: number;
}

/** The place of the first progress in its order: behind the start. */
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
 * The fields to set for a change, with the time of removal when it ends the delivery. That counts from `nowMs` where the
 * end was long ago: the event feed counts on it (ADR 0053), and an instance may be stopped between the two.
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
  // A copy: a view would keep the whole answer of the database in memory for as long as one waits.
  return Buffer.from(body instanceof Uint8Array ? body : body.value());
}
