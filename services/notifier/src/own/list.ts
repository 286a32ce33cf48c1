import { createHash } from 'node:crypto';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Delivery } from '../domain/delivery.ts';
import { type EventSubject, fits, subjectOf } from '../domain/event.ts';
import type { FeedFilter } from '../domain/feed-cursor.ts';
import type { ListMark, OwnDeliveries, OwnQuery } from '../ports/own-deliveries.ts';

/** Maximum deliveries that one request reads, whether they match its filters or not. */
const mostExamined = 1000;
const readAtOnce = 200;

export interface OwnListRequest extends OwnQuery {
  readonly filter: FeedFilter;
  /** 0: every transaction, and deliveries without a transaction. */
  readonly transactionId: number;
  readonly after: string;
  readonly limit: number;
}

export interface OwnDelivery extends EventSubject {
  readonly delivery: Delivery;
}

/** One page of an application's deliveries, newest first. `cursor` is empty on the last page. */
export async function listOwn(
  store: Pick<OwnDeliveries, 'newest' | 'ofTransaction'>,
  request: OwnListRequest,
): Promise<{ deliveries: OwnDelivery[]; cursor: string }> {
  const { limit } = request;
  let after = request.after === '' ? undefined : markOf(request);
  const deliveries: OwnDelivery[] = [];
  let [examined, isLast] = [0, false];
  while (!isLast && deliveries.length < limit && examined < mostExamined) {
    const count = Math.min(readAtOnce, mostExamined - examined);
    const found =
      request.transactionId > 0
        ? await ofTransaction(store, request, after)
        : await store.newest(request, after, count);
    isLast = request.transactionId > 0 || found.length < count;
    for (const delivery of found) {
      if (deliveries.length === limit) {
        isLast = false;
        break;
      }
      examined++;
      after = { atMs: timeOf(delivery, request), id: delivery.id };
      const subject = subjectOf(delivery);
      if (matches(delivery, request) && fits(subject, request.filter))
        deliveries.push({ delivery, ...subject });
    }
  }
  return { deliveries, cursor: isLast || !after ? '' : cursorOf(request, after) };
}

/**
 * Time that a list is ordered by: the end, for deliveries that have ended. Pending deliveries are ordered by creation,
 * because their due time is the end of a lease and changes all the time.
 */
function timeOf({ createdAtMs, dueAtMs }: Delivery, { status }: Pick<OwnQuery, 'status'>): number {
  return status === undefined || status === 'pending' ? createdAtMs : dueAtMs;
}

/** All deliveries of one transaction after the mark. A transaction has few. */
async function ofTransaction(
  store: Pick<OwnDeliveries, 'ofTransaction'>,
  request: OwnListRequest,
  after: ListMark | undefined,
): Promise<Delivery[]> {
  const found = await store.ofTransaction(request.applicationId, request.transactionId);
  const time = (one: Delivery) => timeOf(one, request);
  return found
    .sort((a, b) => time(b) - time(a) || (a.id < b.id ? 1 : -1))
    .filter((one) => !after || time(one) < after.atMs || (time(one) === after.atMs && one.id < after.id));
}

function matches(
  { status, destination, createdAtMs }: Delivery,
  { status: state, destination: to, fromMs = 0, toMs = Number.POSITIVE_INFINITY }: OwnListRequest,
): boolean {
  if (state !== undefined && state !== status) return false;
  if (to !== undefined && to !== destination) return false;
  return createdAtMs >= fromMs && createdAtMs <= toMs;
}

const form = /^1\.(\d{1,16})\.([A-Za-z0-9_-]{8})\.(.{1,300})$/su;

function cursorOf(request: OwnListRequest, { atMs, id }: ListMark): string {
  return Buffer.from(`1.${atMs}.${digest(request)}.${id}`).toString('base64url');
}

/** Parses a cursor. Throws invalid_argument for a cursor that was not issued for this application and these filters. */
function markOf(request: OwnListRequest): ListMark {
  const [, atMs, filters, id] = form.exec(Buffer.from(request.after, 'base64url').toString('utf8')) ?? [];
  if (id === undefined || filters !== digest(request)) {
    throw new DomainError(
      'invalid_argument',
      'The cursor does not belong to this application and these filters: use the filters of the first call, or start without after.',
    );
  }
  return { atMs: Number(atMs), id };
}

function digest({
  applicationId,
  status,
  destination,
  fromMs,
  toMs,
  filter,
  transactionId,
}: OwnListRequest): string {
  const { types, deviceId } = filter;
  const text = JSON.stringify([
    ...[applicationId, status, destination, fromMs, toMs, deviceId, transactionId],
    [...new Set(types)].sort(),
  ]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 8);
}
