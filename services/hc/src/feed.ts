import { earlierName } from '@headset-cloud/cli/options.ts';
import { instant, instantForms } from '@headset-cloud/cli/time.ts';
import { Option } from 'commander';
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

/** True if the cursor has expired: the API's error says to read without a cursor. */
export function isExpiredCursor(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400 && /read without after/i.test(error.message);
}

/** Finds the start position. Returns undefined if `read` returns undefined, because the user has stopped. */
export async function startOf(
  beginning: Beginning,
  read: (position: FeedPosition, limit: number) => Promise<FeedPage | undefined>,
): Promise<FeedPosition | undefined> {
  if (beginning !== 'now') return { cursor: undefined, sinceMs: beginning === 'oldest' ? 0 : beginning };
  const page = await read({ cursor: undefined, sinceMs: afterAllMs }, 1);
  return page && { cursor: page.cursor, sinceMs: 0 };
}

/** True for an event that was created at `sinceMs` or later, and for any resend. */
export function isSince({ createdAt, resend }: FeedEvent, sinceMs: number): boolean {
  return resend !== undefined || !(Date.parse(createdAt) < sinceMs);
}

/** The option for the start position, and its earlier name `--from`. */
export function beginningOptions(): readonly [Option, Option] {
  const since = new Option('--since <beginning>', `start at: now, oldest, ${instantForms}`).argParser(
    (text): Beginning => (text === 'now' || text === 'oldest' ? text : instant(text)),
  );
  return [since, earlierName(since, '--from')];
}
