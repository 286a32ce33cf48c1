import type { Clock } from '@headset-cloud/kit/clock.ts';
import { retryAfterMs } from '../domain/backoff.ts';
import type { AttemptResult } from '../domain/outcome.ts';
import type { CallbackSender } from '../ports.ts';
import { authorizationOf } from './credentials.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import type { OriginPools } from './pools.ts';

/** Most bytes of an answer that are read (rule C10); the rest is cut off. */
const answerLimitBytes = 64 * 1024;
const maxRetryAfterMs = 3_600_000;
const maxErrorLength = 200;

/** Sends callbacks with undici; redirects are not followed. */
export class UndiciSender implements CallbackSender {
  readonly #pools: OriginPools;
  readonly #clock: Clock;
  readonly #totalTimeoutMs: number;

  constructor(pools: OriginPools, clock: Clock, totalTimeoutMs: number) {
    this.#pools = pools;
    this.#clock = clock;
    this.#totalTimeoutMs = totalTimeoutMs;
  }

  async send(
    url: URL,
    headers: Record<string, string>,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<AttemptResult> {
    const atMs = this.#clock.now();
    const { host } = url;
    const started = performance.now();
    const durationMs = () => Math.round(performance.now() - started);
    let deadline: Deadline | undefined;
    let statusCode = 0;
    try {
      deadline = startDeadline(this.#totalTimeoutMs, signal);
      const request = this.#pools.get(url.origin).request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: { ...headers, ...authorizationOf(url) },
        body,
        signal: deadline.signal,
      });
      const answer = await Promise.race([request, deadline.passed]);
      statusCode = answer.statusCode;
      // Read so that the connection can be used again; what it says does not matter.
      await answer.body.dump({ limit: answerLimitBytes, signal: deadline.signal }).catch(() => {});
      const asked =
        statusCode === 429 || statusCode === 503
          ? retryAfterMs(answer.headers['retry-after'], this.#clock.now(), maxRetryAfterMs)
          : undefined;
      return {
        atMs,
        durationMs: durationMs(),
        statusCode,
        error: statusCode >= 200 && statusCode < 300 ? '' : `answered ${statusCode}`,
        host,
        ...(asked !== undefined && { retryAfterMs: asked }),
      };
    } catch (error) {
      return { atMs, durationMs: durationMs(), statusCode: 0, error: describeFailure(error), host };
    } finally {
      deadline?.clear();
    }
  }

  async close(): Promise<void> {
    await this.#pools.close();
  }
}

/** Short, for operators: the code and the message, of the first error where there are several. */
export function describeFailure(error: unknown): string {
  const { errors } = error as { errors?: unknown[] };
  const { code, message, name } = (errors?.[0] ?? error) as NodeJS.ErrnoException;
  const text = code && !message.includes(code) ? `${code}: ${message}` : message;
  return (text || name || 'failed').slice(0, maxErrorLength);
}
