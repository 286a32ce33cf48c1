import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer, ApiClient } from '@headset-cloud/demo/api.ts';
import type { ReadFeed } from '../evidence.ts';
import type { Random } from '../random.ts';

const patienceMs = 5000;
/** Time limit of a read after the last round, when no process is killed; milliseconds. */
const unansweredAfterMs = 120_000;

/**
 * A reader of an application's event feed. It continues from its cursor over all faults. Its events are compared with
 * the callbacks at the integrator's server.
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

  /** Reads pages of random size until the load ends. */
  follow(random: Random, pauseMs: number): (running: () => boolean) => Promise<void> {
    return async (running) => {
      while (running()) {
        await this.#read(this.#ids, 1 + Math.floor(random.between(0, 120)), running);
        await delay(random.between(pauseMs / 4, pauseMs));
      }
    };
  }

  /** Reads to the end. Returns these events, and the events of a second reader that starts from the beginning. */
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
   * Reads a page. Returns whether there may be more pages. With `running`, the request is repeated until the load ends,
   * for as long as the platform is unavailable.
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
      // Tokens are rejected while a clock is wrong, and for a while afterwards.
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
