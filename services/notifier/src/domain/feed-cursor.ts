import { createHash } from 'node:crypto';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Filter of a reader. */
export interface FeedFilter {
  /** Empty for every type. */
  readonly types: readonly string[];
  /** Empty for every device. */
  readonly deviceId: string;
}

/** Position of a reader in an application's feed. */
export interface FeedCursor {
  /** The last position that was read, or a bound before which everything was read; one for each partition. */
  readonly positions: readonly string[];
  /**
   * The reader has read every event that was committed before this time: the time of its start, or of the last read
   * that reached the end. The cursor expires by this time. Milliseconds since 1970.
   */
  readonly sinceMs: number;
}

const form = /^2\.(\d{1,15})\.([\w-]{8})\.([\w-]{8})\.([0-9a-z,]*)\.([\w-]{8})$/;

/** Text of a cursor; opaque to integrators. */
export function cursorText(applicationId: string, filter: FeedFilter, cursor: FeedCursor): string {
  const positions = cursor.positions.toSorted().join(',');
  const text = ['2', cursor.sinceMs, digest(applicationId), filterDigest(filter), positions].join('.');
  return Buffer.from(`${text}.${digest(text)}`).toString('base64url');
}

/** Parses a cursor. Throws invalid_argument for a cursor that was not issued for this application and filter. */
export function cursorFrom(applicationId: string, filter: FeedFilter, given: string): FeedCursor {
  const bytes = Buffer.from(given, 'base64url');
  const text = bytes.toString('latin1');
  const [, sinceMs, application, filters, positions, check] = form.exec(text) ?? [];
  // Buffer ignores characters that are not base64url.
  const isWhole = bytes.toString('base64url') === given && check === digest(text.slice(0, -9));
  if (positions === undefined || !isWhole) throw unknownCursor();
  if (application !== digest(applicationId)) {
    throw new DomainError('invalid_argument', `The cursor belongs to another application. ${beginAgain}`);
  }
  if (filters !== filterDigest(filter)) {
    throw new DomainError(
      'invalid_argument',
      `The cursor belongs to other filters: use the types and deviceId of the first call. To change them, ${lowered(beginAgain)}`,
    );
  }
  return { positions: positions === '' ? [] : positions.split(','), sinceMs: Number(sinceMs) };
}

const beginAgain =
  'Read without after, which begins with the oldest stored event, and ignore events whose webhookId you already have.';

const lowered = (text: string) => text[0]?.toLowerCase() + text.slice(1);

function unknownCursor(): DomainError {
  return new DomainError('invalid_argument', `The cursor is not known. ${beginAgain}`);
}

/** Error for a cursor after which events may have expired. */
export function expiredCursor(): DomainError {
  return new DomainError(
    'invalid_argument',
    `The cursor has expired: some events after it may no longer be stored. ${beginAgain}`,
  );
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 8);
}

function filterDigest({ types, deviceId }: FeedFilter): string {
  return digest(JSON.stringify([[...new Set(types)].sort(), deviceId]));
}
