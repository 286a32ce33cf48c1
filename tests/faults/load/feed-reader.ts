import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer, ApiClient } from '@headset-cloud/demo/api.ts';
import type { ReadFeed } from '../evidence.ts';
import type { Random } from '../random.ts';

const patienceMs = 5000;
/** Time limit of a read after the last round, when no process is killed; milliseconds. */
const unansweredAfterMs = 120_000;

/**
 * A reader of an application's event feed, which continues from its cursor whatever happens to the platform. What it read is
 * compared with what the integrator's server got.
 */
export class FeedReader {
  readonly #applicationId: string;
  readonly #api: ApiClient;
  readonly #ids: string[] = [];
  readonly #refusals: string[] = [];
  #cursor = '';

  constructor(applicationId: string, api: ApiClient) {
    this.#applicationId = applicationId;
    this.#api = api;
  }

  /** Reads a little, again and again, with a limit that changes. */
  follow(random: Random, pauseMs: number): (running: () => boolean) => Promise<void> {
    return async (running) => {
      while (running()) {
        await this.#read(this.#ids, 1 + Math.floor(random.between(0, 120)), running);
        await delay(random.between(pauseMs / 4, pauseMs));
      }
    };
  }

  /** What it has after reading on to the end, and what somebody gets who reads all of it now, 97 at a time. */
  async both(): Promise<ReadFeed> {
    while (await this.#read(this.#ids, 100)) {}
    const again = new FeedReader(this.#applicationId, this.#api);
    while (await again.#read(again.#ids, 97)) {}
    return {
      applicationId: this.#applicationId,
      followed: [...this.#ids],
      again: again.#ids,
      refusals: [...this.#refusals, ...again.#refusals],
    };
  }

  /**
   * Reads a page; returns whether there may be more. A reader that follows the feed repeats the request while the rounds
   * run, however long the platform is away.
   */
  async #read(ids: string[], limit: number, running?: () => boolean): Promise<boolean> {
    const after = this.#cursor === '' ? '' : `&after=${this.#cursor}`;
    const untilMs = performance.now() + unansweredAfterMs;
    const continues = running ?? (() => performance.now() < untilMs);
    while (continues()) {
      const answer = await this.#attempt(`/events?limit=${limit}${after}`);
      if (answer?.status === 200) {
        ids.push(...answer.body.events.map(({ webhookId }: { webhookId: string }) => webhookId));
        this.#cursor = answer.body.cursor;
        return answer.body.more;
      }
      // Tokens are refused while a clock is wrong, and for a while after it.
      if (answer && answer.status < 500 && answer.status !== 401) {
        this.#refusals.push(`${this.#applicationId}: ${answer.status} ${answer.body?.message}`);
        return false;
      }
      await delay(100);
    }
    if (!running) this.#refusals.push(`${this.#applicationId}: no answer`);
    return false;
  }

  #attempt(path: string): Promise<ApiAnswer | undefined> {
    const signal = AbortSignal.timeout(patienceMs);
    return this.#api.app('GET', path, undefined, {}, signal).catch(() => undefined);
  }
}
