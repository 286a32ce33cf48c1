import { duration, instant } from '@headset-cloud/kit/cli/options.ts';
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
  /** It was sent again, for the n-th time; undefined: its first position. */
  readonly resend?: number;
}

/** Names an event of the feed: a callback, or one that was sent again. */
export function eventKey({ webhookId, resend }: FeedEvent): string {
  return resend === undefined ? webhookId : `${webhookId} ${resend}`;
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
  /** Also what was sent again. */
  readonly resends?: boolean;
}

/** Where to begin: with what comes from now on, with the oldest event that is kept, or with a time (ms since 1970). */
export type Beginning = 'now' | 'oldest' | number;

/** No event was created so late. */
const afterAllMs = Date.UTC(9999, 11, 31);
/** A place in the feed: behind a cursor, or before the first event that was created at a time or later. */
export interface FeedPlace {
  readonly cursor: string | undefined;
  /** Where there is no cursor; milliseconds since 1970, 0: the oldest event that is kept. */
  readonly sinceMs: number;
}

/** Reads a page. Without a cursor some events may be older than `sinceMs`. */
export function readFeed(
  api: Api,
  filter: FeedFilter,
  { cursor, sinceMs }: FeedPlace,
  limit: number,
): Promise<FeedPage> {
  const { types, deviceId, resends } = filter;
  const from = cursor === undefined && sinceMs > 0 ? new Date(sinceMs).toISOString() : undefined;
  return api.get<FeedPage>('/events', {
    ...{ after: cursor, from, limit, types, deviceId },
    ...(resends && { resends: 'true' }),
  });
}

/** True where a cursor cannot be continued with: the answer says that one has to read without it. */
export function isLostCursor(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400 && /read without after/i.test(error.message);
}

/** Finds where to begin. `read` answers undefined when the user ends it; then this does, too. */
export async function startOf(
  beginning: Beginning,
  read: (place: FeedPlace, limit: number) => Promise<FeedPage | undefined>,
): Promise<FeedPlace | undefined> {
  if (beginning !== 'now') return { cursor: undefined, sinceMs: beginning === 'oldest' ? 0 : beginning };
  const page = await read({ cursor: undefined, sinceMs: afterAllMs }, 1);
  return page && { cursor: page.cursor, sinceMs: 0 };
}

/** True for an event that was created at `sinceMs` or later, or was sent again, whenever it was created. */
export function isSince({ createdAt, resend }: FeedEvent, sinceMs: number): boolean {
  return resend !== undefined || !(Date.parse(createdAt) < sinceMs);
}

/** Parses `now`, `oldest`, a time such as 2h before now, or one that `instant` takes, for commander. */
export function beginning(text: string): Beginning {
  if (text === 'now' || text === 'oldest') return text;
  return pastTime(text);
}

/** Parses a time such as 2h before now, or one that `instant` takes, for commander; milliseconds since 1970. */
export function pastTime(text: string): number {
  return /^\d+[smhd]$/.test(text) ? Date.now() - duration(text) : instant(text);
}

/** Parses an IMEI for commander. */
export function imei(text: string): string {
  if (!/^\d{15}$/.test(text)) throw new InvalidArgumentError('It is not an IMEI of 15 digits.');
  return text;
}
