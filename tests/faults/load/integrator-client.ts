import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer, ApiClient } from '@headset-cloud/demo/api.ts';
import type { CallRecord, ServerError } from '../evidence.ts';
import type { CallKind } from '../verify/operations.ts';

/** A call of the API that changes data. */
export interface Call {
  readonly kind: CallKind;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly deviceId?: string;
  readonly setting?: { readonly field: string; readonly value: string };
}

/** State of the wall clocks of the platform's processes: wrong now, or wrong at any time in the run. */
export interface ClockState {
  readonly anyOff: boolean;
  readonly anyWasOff: boolean;
}

/** Behaviour of an integrator if a response is late or is a refusal. */
export interface RetryPolicy {
  /** Time-out of an attempt, after which the call is repeated; milliseconds. */
  readonly patienceMs: number;
  /** True: waits for `Retry-After`, and aborts a request after its timeout. */
  readonly honorsRetryAfter: boolean;
}

/** Ignores `Retry-After`, and does not abort requests. */
const defaultPolicy: RetryPolicy = { patienceMs: 5000, honorsRetryAfter: false };

/**
 * Maximum number of invalid tokens per call after a wrong clock is correct again. Each 401 makes the client request a
 * token, and earlier token requests may still be open.
 */
const mostWrongTokens = 3;

/** An integrator that repeats each call with the same key and body until it gets a definitive response. */
export class IntegratorClient {
  readonly applicationId: string;
  readonly calls: CallRecord[] = [];
  /** All responses with status 500 or above. */
  readonly errors: ServerError[] = [];
  /** Number of attempts of all calls. */
  attempts = 0;
  readonly #api: ApiClient;
  readonly #nextOrder: () => number;
  /** A wrong clock of a process may cause invalid tokens. */
  readonly #clocks: ClockState;
  readonly #retryPolicy: RetryPolicy;
  #givenUp = false;

  constructor(
    applicationId: string,
    api: ApiClient,
    nextOrder: () => number,
    clocks: ClockState,
    retryPolicy: RetryPolicy = defaultPolicy,
  ) {
    this.#retryPolicy = retryPolicy;
    this.applicationId = applicationId;
    this.#api = api;
    this.#nextOrder = nextOrder;
    this.#clocks = clocks;
  }

  /** Ends all open calls and records them as unanswered. */
  giveUp(): void {
    this.#givenUp = true;
  }

  get givenUp(): boolean {
    return this.#givenUp;
  }

  async call(call: Call): Promise<CallRecord> {
    return (await this.ask(call)).record;
  }

  /** Like `call`, also returns the body of the definitive response; undefined: there was none. */
  async ask(call: Call): Promise<{ record: CallRecord; body: ApiAnswer['body'] | undefined }> {
    const key = randomUUID();
    let answer: ApiAnswer | undefined;
    let attempts = 0;
    let wrongTokens = 0;
    while (!this.#givenUp && !isDefinitive(answer)) {
      const clockWasOff = this.#clocks.anyOff;
      if (attempts > 0) await delay(Math.max(Math.min(50 * attempts, 500), this.#retryAfterMs(answer)));
      attempts += 1;
      this.attempts += 1;
      answer = await this.#attempt(call, key);
      if (answer && answer.status >= 500) this.errors.push(errorOf(call, answer));
      if (answer?.status !== 401) continue;
      const isOff = clockWasOff || this.#clocks.anyOff;
      // The client keeps a token of a wrong clock until it is rejected, for up to an hour.
      if (!isOff && this.#clocks.anyWasOff) wrongTokens += 1;
      if (isOff || (wrongTokens > 0 && wrongTokens <= mostWrongTokens)) answer = undefined;
    }
    const definitive = isDefinitive(answer) ? answer : undefined;
    const record = this.#record(call, key, attempts, definitive);
    this.calls.push(record);
    return { record, body: definitive?.body };
  }

  /** Returns the wait of `Retry-After`; milliseconds. */
  #retryAfterMs(answer: ApiAnswer | undefined): number {
    const seconds = Number(answer?.headers['retry-after'] ?? 0);
    return this.#retryPolicy.honorsRetryAfter && Number.isFinite(seconds) ? 1000 * seconds : 0;
  }

  #record(call: Call, key: string, attempts: number, answer: ApiAnswer | undefined): CallRecord {
    const { status, body } = answer ?? { status: 0 };
    return {
      ...{ key, kind: call.kind, applicationId: this.applicationId, attempts, status },
      order: this.#nextOrder(),
      ...(call.deviceId && { deviceId: call.deviceId }),
      ...(call.setting && { setting: call.setting }),
      ...(status === 201 && body.transactionId !== undefined && { transactionId: body.transactionId }),
      ...(status === 200 && call.kind === 'cancel' && { canceledIds: body.canceledTransactions }),
      ...(status >= 400 && { message: body?.message }),
    };
  }

  async #attempt(call: Call, key: string): Promise<ApiAnswer | undefined> {
    const { patienceMs, honorsRetryAfter } = this.#retryPolicy;
    const end = new AbortController();
    const headers = { 'idempotency-key': key };
    const sent = this.#api.app(call.method, call.path, call.body, headers, end.signal);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        resolve(undefined);
        if (honorsRetryAfter) end.abort();
      }, patienceMs);
    });
    try {
      // Without the abort, the request continues after the timeout, like after a client's disconnect.
      return await Promise.race([sent.catch(() => undefined), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function isDefinitive(answer: ApiAnswer | undefined): answer is ApiAnswer {
  return answer !== undefined && answer.status >= 200 && answer.status < 500;
}

function errorOf({ kind }: Call, { status, headers, body }: ApiAnswer): ServerError {
  const retryAfter = headers['retry-after'];
  return {
    ...{ kind, status, atMs: Date.now(), message: String(body?.message ?? '') },
    retryAfter: typeof retryAfter === 'string' ? retryAfter : '',
    requestId: String(headers['x-request-id'] ?? ''),
  };
}
