import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer, ApiClient } from '@headset-cloud/demo/api.ts';
import type { CallRecord, ServerError } from '../evidence.ts';
import type { CallKind } from '../judge/operations.ts';

/** A call that changes something, as a client makes it. */
export interface Call {
  readonly kind: CallKind;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly deviceId?: string;
  readonly setting?: { readonly field: string; readonly value: string };
}

/** What is known of the wall clocks of the platform's processes. */
export interface ClockState {
  readonly anyOff: boolean;
  readonly anyWasOff: boolean;
}

/** How an integrator behaves towards an API that is slow or refuses. */
export interface Manners {
  /** Time-out of an attempt, after which the call is repeated; milliseconds. */
  readonly patienceMs: number;
  /** Waits for as long as `Retry-After` says, and ends a request that it gives up. */
  readonly polite: boolean;
}

/** Repeats at once, and leaves what it gives up to itself. */
const rude: Manners = { patienceMs: 5000, polite: false };

/**
 * How many tokens of an issuer whose clock was wrong a call may meet after the clock is right again: each refusal
 * makes the client get another one, and a request for one may have been under way.
 */
const mostWrongTokens = 3;

/** An integrator that repeats each call, with the same key and body, until it has a definitive response. */
export class IntegratorClient {
  readonly applicationId: string;
  readonly calls: CallRecord[] = [];
  /** All responses with status 500 or above. */
  readonly errors: ServerError[] = [];
  /** Number of attempts of all calls. */
  attempts = 0;
  readonly #api: ApiClient;
  readonly #nextOrder: () => number;
  /** Whether a process has a wrong clock now, or had one; then its token may be refused. */
  readonly #clocks: ClockState;
  readonly #manners: Manners;
  #givenUp = false;

  constructor(
    applicationId: string,
    api: ApiClient,
    nextOrder: () => number,
    clocks: ClockState,
    manners: Manners = rude,
  ) {
    this.#manners = manners;
    this.applicationId = applicationId;
    this.#api = api;
    this.#nextOrder = nextOrder;
    this.#clocks = clocks;
  }

  /** Records the calls that still wait as unanswered. */
  giveUp(): void {
    this.#givenUp = true;
  }

  get givenUp(): boolean {
    return this.#givenUp;
  }

  async call(call: Call): Promise<CallRecord> {
    return (await this.ask(call)).record;
  }

  /** The same, with the response; undefined: there was no definitive one. */
  async ask(call: Call): Promise<{ record: CallRecord; body: ApiAnswer['body'] | undefined }> {
    const key = randomUUID();
    let answer: ApiAnswer | undefined;
    let attempts = 0;
    let wrongTokens = 0;
    while (!this.#givenUp && !isDefinitive(answer)) {
      const clockWasOff = this.#clocks.anyOff;
      if (attempts > 0) await delay(Math.max(Math.min(50 * attempts, 500), this.#toldMs(answer)));
      attempts += 1;
      this.attempts += 1;
      answer = await this.#attempt(call, key);
      if (answer && answer.status >= 500) this.errors.push(errorOf(call, answer));
      if (answer?.status !== 401) continue;
      const isOff = clockWasOff || this.#clocks.anyOff;
      // A token that was issued by a wrong clock is kept until it is refused, up to an hour later.
      if (!isOff && this.#clocks.anyWasOff) wrongTokens += 1;
      if (isOff || (wrongTokens > 0 && wrongTokens <= mostWrongTokens)) answer = undefined;
    }
    const definitive = isDefinitive(answer) ? answer : undefined;
    const record = this.#record(call, key, attempts, definitive);
    this.calls.push(record);
    return { record, body: definitive?.body };
  }

  /** How long the answer says to wait. */
  #toldMs(answer: ApiAnswer | undefined): number {
    const told = Number(answer?.headers['retry-after'] ?? 0);
    return this.#manners.polite && Number.isFinite(told) ? 1000 * told : 0;
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
    const { patienceMs, polite } = this.#manners;
    const end = new AbortController();
    const headers = { 'idempotency-key': key };
    const sent = this.#api.app(call.method, call.path, call.body, headers, end.signal);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        resolve(undefined);
        if (polite) end.abort();
      }, patienceMs);
    });
    try {
      // An attempt that is given up continues in the server, as after a client's disconnect.
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
