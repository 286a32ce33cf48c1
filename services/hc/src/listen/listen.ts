import { CliError, exitCodes } from '@headset-cloud/cli/exit-codes.ts';
import { longestBackoffMs } from '@headset-cloud/runtime/backoff.ts';
import type { Api } from '../api.ts';
import {
  eventKey,
  type FeedEvent,
  type FeedFilter,
  type FeedPage,
  isExpiredCursor,
  isSince,
  readFeed,
} from '../feed.ts';
import { pause, untilSuccess } from '../session.ts';
import type { SigningKey } from '../signing-keys.ts';
import { type Attempt, callbackHeaders, post } from './forward.ts';
import { maxRemembered, type PositionFile } from './position.ts';

/** Events of one page. A larger page would not be faster, because events are sent one after the other. */
const pageSize = 100;
const firstWaitMs = 1000;
const maxWaitMs = 30_000;
/** Age after which the application's key is read again, because it may have been renewed; milliseconds. */
const keyAgeMs = 60_000;

/** One request to the target, for the output. */
export interface Forwarded extends Attempt {
  readonly event: FeedEvent;
  /** Starts at 1. */
  readonly attempt: number;
  /** `taken`: 2xx; `gone`: 410, which drops the event like in the cloud; `again`: the event is retried. */
  readonly outcome: 'taken' | 'gone' | 'again';
  /** Time until the next attempt; milliseconds. */
  readonly nextInMs: number | undefined;
}

export interface ListenOptions {
  readonly api: Api;
  readonly filter: FeedFilter;
  readonly target: URL;
  readonly positionFile: PositionFile;
  readonly key: SigningKey;
  /** Reads the current key. Returns the same key if it cannot change. */
  readonly readKey: () => Promise<SigningKey>;
  readonly pollMs: number;
  /** Aborted to stop new work. */
  readonly stop: AbortSignal;
  /** Aborted to abort the request in progress, too. */
  readonly abortRequest: AbortSignal;
  readonly show: (forwarded: Forwarded) => Promise<void>;
  readonly note: (text: string) => void;
}

/**
 * Forwards the feed to the target, one event after the other, until `stop`. An event is finished only when it was
 * answered, and its position is stored before the next event is sent. Throws CliError if it cannot continue.
 */
export async function listen(options: ListenOptions): Promise<void> {
  const { api, filter, positionFile, pollMs, stop, note } = options;
  const forwarder = new Forwarder(options);
  while (!stop.aborted) {
    let page: FeedPage | undefined;
    try {
      const at = { cursor: positionFile.position.cursor, sinceMs: positionFile.wantedSinceMs };
      page = await untilSuccess(() => readFeed(api, filter, at, pageSize), { stop, note });
    } catch (error) {
      if (!isExpiredCursor(error) || positionFile.position.cursor === undefined) throw error;
      note(
        `${error.message}\nReading from the oldest stored event. Events that were forwarded before or that are older than the start are left out. The last ${positionFile.remembered} events are remembered, up to ${maxRemembered}. Your server should ignore a webhook-id that it has already handled.`,
      );
      positionFile.moveTo({ cursor: undefined, skipBeforeMs: positionFile.wantedSinceMs });
      continue;
    }
    if (!page) return;
    const { skipBeforeMs } = positionFile.position;
    for (const event of page.events) {
      if (stop.aborted) return;
      if (positionFile.has(eventKey(event)) || !isSince(event, skipBeforeMs)) continue;
      if (!(await forwarder.forward(event))) return;
    }
    // At the end of the feed, every later event is wanted: it was stored later, whenever it was created.
    positionFile.moveTo({ cursor: page.cursor, skipBeforeMs: page.more ? skipBeforeMs : 0 });
    if (!page.more) await pause(pollMs, stop);
  }
}

class Forwarder {
  readonly #options: ListenOptions;
  #key: SigningKey;
  #keyReadAtMs = Date.now();

  constructor(options: ListenOptions) {
    this.#options = options;
    this.#key = options.key;
  }

  /**
   * Sends an event until it is answered. Returns false if `stop` was aborted before. Throws CliError if `abortRequest`
   * interrupted the request.
   */
  async forward(event: FeedEvent): Promise<boolean> {
    const { api, target, positionFile, stop, abortRequest, show } = this.#options;
    for (let attempt = 1; ; attempt++) {
      await this.#refreshKey(keyAgeMs);
      if (stop.aborted) return false;
      const headers = callbackHeaders(event, api.applicationId, this.#key.key, Date.now());
      const result = await post(target, headers, event.body, { signal: abortRequest, key: this.#key.key });
      const outcome = outcomeOf(result.status);
      if (outcome !== 'again') {
        positionFile.answered(eventKey(event));
        await show({ ...result, event, attempt, outcome, nextInMs: undefined });
        return true;
      }
      if (abortRequest.aborted) {
        throw new CliError(exitCodes.interrupted, 'The event in progress was not answered.');
      }
      const ownWaitMs = longestBackoffMs(attempt, { firstMs: firstWaitMs, maxMs: maxWaitMs });
      const nextInMs = Math.max(ownWaitMs, Math.min(result.retryAfterMs ?? 0, maxWaitMs));
      await show({ ...result, event, attempt, outcome, nextInMs });
      // The target may have rejected the event because the application's key was renewed.
      if (result.status === 401 || result.status === 403) await this.#refreshKey(0);
      await pause(nextInMs, stop);
    }
  }

  async #refreshKey(olderThanMs: number): Promise<void> {
    const { readKey, stop, note } = this.#options;
    if (Date.now() - this.#keyReadAtMs < olderThanMs) return;
    const key = await untilSuccess(readKey, { stop, note });
    if (!key) return;
    if (key.key !== this.#key.key)
      note('The application has a new key; callbacks are signed with it from now on.');
    this.#key = key;
    this.#keyReadAtMs = Date.now();
  }
}

function outcomeOf(status: number | undefined): Forwarded['outcome'] {
  if (status !== undefined && status >= 200 && status < 300) return 'taken';
  return status === 410 ? 'gone' : 'again';
}
