import type { Binary } from 'mongodb';
import { type Delivery, type DeliveryChange, laneOf } from '../domain/delivery.ts';

/** A delivery as a document: the body as binary data, and what indexes need. */
export interface DeliveryDocument extends Omit<Delivery, 'id' | 'body'> {
  _id: string;
  body: Binary | Uint8Array;
  lane: string;
  /** Set when it has ended: MongoDB removes it then (TTL). */
  expireAt?: Date;
}

/** How long ended deliveries are kept; milliseconds. */
export interface Retention {
  readonly deliveredMs: number;
  readonly deadMs: number;
}

export function toDocument(delivery: Delivery): DeliveryDocument {
  const { id, ...rest } = delivery;
  return { _id: id, ...rest, lane: laneOf(delivery.applicationId, delivery.destination) };
}

export function fromDocument(document: DeliveryDocument): Delivery {
  const { _id, lane: _lane, expireAt: _expireAt, body, ...rest } = document;
  return { id: _id, ...rest, body: bytesOf(body) };
}

/** The fields to set for a change, with the time of removal when it ends the delivery. */
export function changedFields(change: DeliveryChange, retention: Retention): Partial<DeliveryDocument> {
  if (change.status === undefined || change.status === 'pending' || change.dueAtMs === undefined)
    return change;
  const keptMs = change.status === 'dead' ? retention.deadMs : retention.deliveredMs;
  return { ...change, expireAt: new Date(change.dueAtMs + keptMs) };
}

function bytesOf(body: Binary | Uint8Array): Buffer {
  // A copy: a view would keep the whole answer of the database in memory for as long as one waits.
  return Buffer.from(body instanceof Uint8Array ? body : body.value());
}
