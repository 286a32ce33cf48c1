import { duration, instant } from '@headset-cloud/cli/options.ts';
import { InvalidArgumentError } from 'commander';
import { type Api, ApiError } from './api.ts';

/** One callback in the feed (`GET …/events`). */
export interface FeedEvent {
  readonly webhookId: string;
  readonly type: string;
  readonly destination: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly deviceId: string | null;
  /** The JSON text that is signed. */
  readonly body: string;
  /** Number of the resend; undefined for the first send. */
  readonly resend?: number;
}

/** Identifies an event of the feed: a callback, or one of its resends. */
export function eventKey({ webhookId, resend }: FeedEvent): string {
  return resend === undefined ? webhookId : `${webhookId} ${resend}`;
}

/** A page of the feed. */
export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** Cursor after the last event that was read. */
  readonly cursor: string;
  /** True if more events can be read at once. */
  readonly more: boolean;
}

/** Filter for events. */
export interface FeedFilter {
  /** Separated by commas. */
  readonly types?: string;
  readonly deviceId?: string;
  /** True to include resends. */
  readonly resends?: boolean;
}

/** Start position: new events, the oldest stored event, or a time (milliseconds since 1970). */
export type Beginning = 'now' | 'oldest' | number;

/** Later than the creation of any event. */
const afterAllMs = Date.UTC(9999, 11, 31);
/** A position in the feed: after a cursor, or before the first event that was created at a time or later. */
export interface FeedPosition {
  readonly cursor: string | undefined;
  /** Used without a cursor; milliseconds since 1970, 0: the oldest stored event. */
  readonly sinceMs: number;
}

/** Reads a page. Without a cursor the page may contain events older than `sinceMs`. */
export function readFeed(
  api: Api,
  filter: FeedFilter,
  { cursor, sinceMs }: FeedPosition,
  limit: number,
): Promise<FeedPage> {
  const { types, deviceId, resends } = filter;
  const from = cursor === undefined && sinceMs > 0 ? new Date(sinceMs).toISOString() : undefined;
  return api.get<FeedPage>('/events', {
    ...{ after: cursor, from, limit, types, deviceId },
    ...(resends && { resends: 'true' }),
  });
}

/** True if a cursor is no longer valid: the answer asks for a read without a cursor. */
export function isLostCursor(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400 && /read without after/i.test(error.message);
}

/** Finds the start position. Returns undefined if `read` does, because the user has stopped. */
export async function startOf(
  beginning: Beginning,
  read: (place: FeedPosition, limit: number) => Promise<FeedPage | undefined>,
): Promise<FeedPosition | undefined> {
  if (beginning !== 'now') return { cursor: undefined, sinceMs: beginning === 'oldest' ? 0 : beginning };
  const page = await read({ cursor: undefined, sinceMs: afterAllMs }, 1);
  return page && { cursor: page.cursor, sinceMs: 0 };
}

/** True for an event that was created at `sinceMs` or later, and for any resend. */
export function isSince({ createdAt, resend }: FeedEvent, sinceMs: number): boolean {
  return resend !== undefined || !(Date.parse(createdAt) < sinceMs);
}

/** Parses `now`, `oldest`, a time such as 2h (ago), or a time that `instant` accepts, for commander. */
export function beginning(text: string): Beginning {
  if (text === 'now' || text === 'oldest') return text;
  return pastTime(text);
}

/** Parses a time such as 2h (ago), or a time that `instant` accepts, for commander. Returns milliseconds since 1970. */
export function pastTime(text: string): number {
  return /^\d+[smhd]$/.test(text) ? Date.now() - duration(text) : instant(text);
}

/** Parses an IMEI for commander. */
export function imei(text: string): string {
  if (!/^\d{15}$/.test(text)) throw new InvalidArgumentError('It is not an IMEI of 15 digits.');
  return text;
}
