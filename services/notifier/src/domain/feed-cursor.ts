import { createHash } from 'node:crypto';
import { DomainError } from '@headset-cloud/kit/errors.ts';

/** Which events a reader wants. */
export interface FeedFilter {
  /** Empty: every type. */
  readonly types: readonly string[];
  /** Empty: every device. */
  readonly deviceId: string;
}

/** A place between two events of an application's feed. */
export interface FeedPosition {
  readonly page: number;
  /** So many events of the page are before it. */
  readonly place: number;
  /** Of the page; of the one before it where the place is 0, since the page may not be there yet. */
  readonly tag: string;
  /**
   * What is behind it, and was stored then or later, or had not ended then, is to be seen by this reader: since then it
   * has begun, was at the end, or passed a page that says so. Milliseconds since 1970.
   */
  readonly sinceMs: number;
}

const form =
  /^1\.(\d{1,15})\.(\d{1,6})\.([A-Za-z0-9_-]{1,32})\.(\d{1,15})\.([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{8})$/;

/** Opaque to integrators. */
export function cursorOf(applicationId: string, filter: FeedFilter, position: FeedPosition): string {
  const { page, place, tag, sinceMs } = position;
  const text = [1, page, place, tag, sinceMs, digest(applicationId), filterDigest(filter)].join('.');
  return Buffer.from(text).toString('base64url');
}

/** Throws invalid_argument for one that this application and filter never got. */
export function positionOf(applicationId: string, filter: FeedFilter, cursor: string): FeedPosition {
  const bytes = Buffer.from(cursor, 'base64url');
  const [, page, place, tag, sinceMs, application, filters] = form.exec(bytes.toString('latin1')) ?? [];
  // Buffer leaves out what is not base64url.
  if (tag === undefined || bytes.toString('base64url') !== cursor) throw unknownCursor();
  if (application !== digest(applicationId)) {
    throw new DomainError('invalid_argument', `The cursor is of another application. ${beginAnew}`);
  }
  if (filters !== filterDigest(filter)) {
    throw new DomainError(
      'invalid_argument',
      `The cursor is of other filters: give the types and deviceId that it was given for. To change them, ${lowered(beginAnew)}`,
    );
  }
  return { page: Number(page), place: Number(place), tag, sinceMs: Number(sinceMs) };
}

const beginAnew =
  'Read without after, which begins with the oldest event that is kept, and leave out events whose webhookId you have had.';

const lowered = (text: string) => text[0]?.toLowerCase() + text.slice(1);

export function unknownCursor(): DomainError {
  return new DomainError('invalid_argument', `The cursor is not known. ${beginAnew}`);
}

/** Events behind the cursor may have had their time. */
export function expiredCursor(): DomainError {
  return new DomainError(
    'invalid_argument',
    `The cursor has expired: some events behind it may no longer be kept. ${beginAnew}`,
  );
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 8);
}

function filterDigest({ types, deviceId }: FeedFilter): string {
  return digest(JSON.stringify([[...new Set(types)].sort(), deviceId]));
}
