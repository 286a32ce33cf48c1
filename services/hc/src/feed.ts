import { duration } from '@headset-cloud/kit/cli/options.ts';
import { InvalidArgumentError } from 'commander';
import { type Api, ApiError } from './api.ts';

/** One callback as the feed gives it (`GET …/events`). */
export interface FeedEvent {
  readonly webhookId: string;
  readonly type: string;
  readonly destination: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly deviceId: string | null;
  /** The JSON text that is signed. */
  readonly body: string;
}

/** A page of the feed. */
export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** Behind the last event that was looked at. */
  readonly cursor: string;
  /** More can be read at once. */
  readonly more: boolean;
}

/** Which events are wanted. */
export interface FeedFilter {
  /** Separated by commas. */
  readonly types?: string;
  readonly deviceId?: string;
}

/** Where to begin: with what comes from now on, with the oldest event that is kept, or with a time (ms since 1970). */
export type Beginning = 'now' | 'oldest' | number;

/** Most events of one page. */
const mostOfPage = 1000;
/** After so many events whoever waits is told. */
const toldEvery = 10_000;

/** Reads a page; without `after` from the oldest event that is kept. */
export function readFeed(
  api: Api,
  filter: FeedFilter,
  after: string | undefined,
  limit: number,
): Promise<FeedPage> {
  return api.get<FeedPage>('/events', { after, limit, types: filter.types, deviceId: filter.deviceId });
}

/** True where a cursor cannot be gone on with: the answer says that one has to read without it. */
export function isLostCursor(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400 && /read without after/i.test(error.message);
}

/** What of a feed is to be left out, and from where on it is read. */
export interface FeedStart {
  /** Undefined: from the oldest event that is kept. */
  readonly cursor: string | undefined;
  /** Events that were created before are not wanted; milliseconds since 1970. */
  readonly sinceMs: number;
  /** How many events lie before. */
  readonly skipped: number;
}

/**
 * Finds where to begin. For what comes from now on the feed is read to its end: only reading tells a cursor.
 * `read` answers undefined when the user ends it; then this does, too. `note` tells whoever waits for it.
 */
export async function startOf(
  beginning: Beginning,
  read: (after: string | undefined, limit: number) => Promise<FeedPage | undefined>,
  note: (text: string) => void,
): Promise<FeedStart | undefined> {
  if (beginning === 'oldest') return { cursor: undefined, sinceMs: 0, skipped: 0 };
  let cursor: string | undefined;
  let skipped = 0;
  for (;;) {
    const page = await read(cursor, mostOfPage);
    if (!page) return undefined;
    const first =
      beginning === 'now' ? -1 : page.events.findIndex(({ createdAt }) => Date.parse(createdAt) >= beginning);
    // The page with the first wanted event is read again, and what is older on it is left out.
    if (first >= 0) return { cursor, sinceMs: beginning as number, skipped: skipped + first };
    const before = Math.floor(skipped / toldEvery);
    skipped += page.events.length;
    cursor = page.cursor;
    if (Math.floor(skipped / toldEvery) > before)
      note(`Looking for the beginning: ${skipped} events so far.`);
    if (!page.more) return { cursor, sinceMs: beginning === 'now' ? 0 : beginning, skipped };
  }
}

/** True for an event that was created at `sinceMs` or later. */
export function isSince({ createdAt }: FeedEvent, sinceMs: number): boolean {
  return !(Date.parse(createdAt) < sinceMs);
}

/** Parses `now`, `oldest`, a time such as 2h before now, or a date, for commander. */
export function beginning(text: string): Beginning {
  if (text === 'now' || text === 'oldest') return text;
  return pastTime(text);
}

/** Parses a time such as 2h before now, or a date such as 2026-01-31T12:00:00Z; milliseconds since 1970. */
export function pastTime(text: string): number {
  if (/^\d+[smhd]$/.test(text)) return Date.now() - duration(text);
  const ms = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new InvalidArgumentError('It is no time such as 2h (before now) or 2026-01-31T12:00:00Z.');
  }
  return ms;
}

/** Parses an IMEI for commander. */
export function imei(text: string): string {
  if (!/^\d{15}$/.test(text)) throw new InvalidArgumentError('It is not an IMEI of 15 digits.');
  return text;
}
