import { maskedBeginning, readBytes, secretsIn } from '@headset-cloud/outbound/answer.ts';
import { authorizationOf } from '@headset-cloud/outbound/credentials.ts';
import { cut } from '@headset-cloud/runtime/characters.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import type { Dispatcher } from 'undici';
import type { AttemptResult } from '../domain/outcome.ts';
import { retryAfterMs } from '../domain/retry-after.ts';
import type { CallbackRequest, CallbackSender } from '../ports/callback-sender.ts';
import type { OriginPools } from './pools.ts';

/** Maximum bytes of an answer that are read (rule C10); the rest is discarded. */
const answerLimitBytes = 64 * 1024;
const maxErrorLength = 200;

/** Limits of one attempt; milliseconds. */
export interface SenderLimits {
  /** Time until the end of the answer, including connecting. */
  readonly totalTimeoutMs: number;
  /** Longest pause that a receiver can ask for. */
  readonly maxRetryAfterMs: number;
}

/** Sends callbacks with undici. Redirects are not followed. */
export class UndiciSender implements CallbackSender {
  readonly #pools: OriginPools;
  readonly #time: Time;
  readonly #limits: SenderLimits;
  /** Requests in flight, by the signal that aborts them. */
  readonly #inProgress = new WeakMap<AbortSignal, Set<Exchange>>();

  constructor(pools: OriginPools, time: Time, limits: SenderLimits) {
    this.#pools = pools;
    this.#time = time;
    this.#limits = limits;
  }

  async send(
    { url, headers, body, authenticationKey }: CallbackRequest,
    signal: AbortSignal,
  ): Promise<AttemptResult> {
    const atMs = this.#time.now();
    const { host } = url;
    const started = this.#time.monotonicNow();
    const durationMs = () => Math.round(this.#time.monotonicNow() - started);
    const sent = { ...headers, ...authorizationOf(url) };
    try {
      const { statusCode, retryAfter, beginning } = await this.#exchange(url, sent, body, signal);
      const succeeded = isSuccess(statusCode);
      // A receiver knows the application's key and may return it in the answer.
      const answer = succeeded
        ? ''
        : maskedBeginning(beginning, [authenticationKey, ...secretsIn(sent)]).answer;
      const asked =
        statusCode === 429 || statusCode === 503
          ? retryAfterMs(retryAfter, this.#time.now(), this.#limits.maxRetryAfterMs)
          : undefined;
      return {
        atMs,
        durationMs: durationMs(),
        statusCode,
        error: succeeded ? '' : `answered ${statusCode}`,
        host,
        ...(answer !== '' && { answer }),
        ...(asked !== undefined && { retryAfterMs: asked }),
      };
    } catch (error) {
      return { atMs, durationMs: durationMs(), statusCode: 0, error: describeFailure(error), host };
    }
  }

  /** One request. Rejects if no status arrives in time. */
  async #exchange(
    url: URL,
    headers: Record<string, string>,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<Exchange> {
    signal.throwIfAborted();
    const { totalTimeoutMs } = this.#limits;
    const exchange = new Exchange();
    const abortable = this.#exchangesOf(signal).add(exchange);
    const timer = this.#time.setTimeout(
      () => exchange.giveUp(new Error(`no complete answer within ${totalTimeoutMs} ms`)),
      totalTimeoutMs,
    );
    try {
      const path = url.pathname + url.search;
      this.#pools.get(url.origin).dispatch({ method: 'POST', path, headers, body }, exchange);
      await exchange.over;
      return exchange;
    } finally {
      this.#time.clearTimer(timer);
      abortable.delete(exchange);
    }
  }

  /** Requests in flight that end when the signal is aborted. */
  #exchangesOf(signal: AbortSignal): Set<Exchange> {
    let exchanges = this.#inProgress.get(signal);
    if (!exchanges) {
      const some = new Set<Exchange>();
      signal.addEventListener(
        'abort',
        () => {
          for (const exchange of some) exchange.giveUp(signal.reason as Error);
        },
        { once: true },
      );
      this.#inProgress.set(signal, some);
      exchanges = some;
    }
    return exchanges;
  }

  async close(): Promise<void> {
    await this.#pools.close();
  }
}

const isSuccess = (statusCode: number) => statusCode >= 200 && statusCode < 300;

/**
 * Handles one request. The answer's body is read, so that the connection can be reused. The body of a success is
 * discarded; of any other answer the beginning is kept. After the status has arrived, errors of the body are ignored.
 */
class Exchange implements Dispatcher.DispatchHandler {
  statusCode = 0;
  retryAfter: string | string[] | undefined;
  /** Resolves when the answer has ended or was aborted; rejects if there is no status. */
  readonly over: Promise<void>;
  readonly #end: () => void;
  readonly #fail: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #givenUp: Error | undefined;
  #bytes = 0;
  readonly #parts: Buffer[] = [];

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.over = promise;
    this.#end = resolve;
    this.#fail = reject;
  }

  /** The beginning of an answer without success. */
  get beginning(): Buffer {
    return Buffer.concat(this.#parts);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#givenUp) controller.abort(this.#givenUp);
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    statusCode: number,
    headers: Dispatcher.ResponseData['headers'],
  ): void {
    // 1xx: the final answer follows.
    if (statusCode < 200) return;
    this.statusCode = statusCode;
    this.retryAfter = headers['retry-after'];
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#bytes < readBytes && !isSuccess(this.statusCode)) {
      this.#parts.push(Buffer.from(chunk.subarray(0, readBytes - this.#bytes)));
    }
    this.#bytes += chunk.length;
    if (this.#bytes > answerLimitBytes) controller.abort(new Error('the answer is too long'));
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#settle(error);
  }

  /** Ends the request at once. An abort alone is not sufficient, because undici reacts to it only when connected. */
  giveUp(reason: Error): void {
    this.#givenUp = reason;
    this.#controller?.abort(reason);
    this.#settle(reason);
  }

  #settle(reason: unknown): void {
    if (this.statusCode > 0) this.#end();
    else this.#fail(reason);
  }
}

/** Short text for operators: code and message, of the first error if there are several. */
export function describeFailure(error: unknown): string {
  const { errors } = error as { errors?: unknown[] };
  const { code, message, name } = (errors?.[0] ?? error) as NodeJS.ErrnoException;
  const text = code && !message.includes(code) ? `${code}: ${message}` : message;
  return cut(text || name || 'failed', maxErrorLength);
}
