import { createHash } from 'node:crypto';
import { DomainError } from '@headset-cloud/kit/errors.ts';

/** Which events a reader wants. */
export interface FeedFilter {
  /** Empty: every type. */
  readonly types: readonly string[];
  /** Empty: every device. */
  readonly deviceId: string;
}

/** How far a reader has read an application's feed. */
export interface FeedCursor {
  /** The last position that was read, or a bound before which everything was read; one for each partition. */
  readonly positions: readonly string[];
  /** Everything that is behind the cursor and was stored then or later is still kept; milliseconds since 1970. */
  readonly sinceMs: number;
}

const form = /^2\.(\d{1,15})\.([\w-]{8})\.([\w-]{8})\.([0-9a-z,]*)\.([\w-]{8})$/;

/** Opaque to integrators. */
export function cursorText(applicationId: string, filter: FeedFilter, cursor: FeedCursor): string {
  const positions = cursor.positions.toSorted().join(',');
  const text = ['2', cursor.sinceMs, digest(applicationId), filterDigest(filter), positions].join('.');
  return Buffer.from(`${text}.${digest(text)}`).toString('base64url');
}

/** Throws invalid_argument for one that this application and filter never got. */
export function cursorFrom(applicationId: string, filter: FeedFilter, given: string): FeedCursor {
  const bytes = Buffer.from(given, 'base64url');
  const text = bytes.toString('latin1');
  const [, sinceMs, application, filters, positions, check] = form.exec(text) ?? [];
  // Buffer leaves out what is not base64url.
  const isWhole = bytes.toString('base64url') === given && check === digest(text.slice(0, -9));
  if (positions === undefined || !isWhole) throw unknownCursor();
  if (application !== digest(applicationId)) {
    throw new DomainError('invalid_argument', `The cursor is of another application. ${beginAgain}`);
  }
  if (filters !== filterDigest(filter)) {
    throw new DomainError(
      'invalid_argument',
      `The cursor is of other filters: give the types and deviceId that it was given for. To change them, ${lowered(beginAgain)}`,
    );
  }
  return { positions: positions === '' ? [] : positions.split(','), sinceMs: Number(sinceMs) };
}

const beginAgain =
  'Read without after, which begins with the oldest event that is kept, and leave out events whose webhookId you have had.';

const lowered = (text: string) => text[0]?.toLowerCase() + text.slice(1);

function unknownCursor(): DomainError {
  return new DomainError('invalid_argument', `The cursor is not known. ${beginAgain}`);
}

/** Events behind the cursor may have expired. */
export function expiredCursor(): DomainError {
  return new DomainError(
    'invalid_argument',
    `The cursor has expired: some events behind it may no longer be kept. ${beginAgain}`,
  );
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 8);
}

function filterDigest({ types, deviceId }: FeedFilter): string {
  return digest(JSON.stringify([[...new Set(types)].sort(), deviceId]));
}
