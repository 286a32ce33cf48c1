import { randomBytes } from 'node:crypto';
import type { Time } from '@headset-cloud/kit/clock.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { signatureHeaders } from '@headset-cloud/kit/outbound/signing.ts';
import { inSpan, SpanKind } from '@headset-cloud/kit/telemetry.ts';
import type { buildConnector } from 'undici';
import type { DestinationSetting } from '../domain/delivery.ts';
import { type Deadline, startDeadline } from '../http/deadline.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { DestinationAddress, Destinations } from '../ports.ts';
import { postTest, type TestResult } from './request.ts';
import { TestsUnderWay } from './under-way.ts';

/** Longest time of a test with all its requests, so that the gateway can tell what came of it; milliseconds. */
const longestMs = 13_000;

export interface TestCallback {
  readonly applicationId: string;
  readonly destination: DestinationSetting;
  /** JSON, signed and sent as it is. */
  readonly body: Uint8Array;
  /** The same for each repeat of one request. */
  readonly webhookId: string;
  /** Also sends it with a wrong signature. */
  readonly verify: boolean;
}

/** What came of a test callback. */
export interface TestOutcome {
  readonly host: string;
  readonly attempt: TestResult;
  /** Absent: not asked for. `refused` is absent where neither a 2xx nor a 4xx came. */
  readonly verification?: { readonly refused?: boolean; readonly attempt: TestResult };
}

export interface TestCallbacksOptions {
  readonly destinations: Destinations;
  /** Judges addresses and goes through the egress proxy, as for callbacks. */
  readonly connect: buildConnector.connector;
  readonly metrics: Pick<NotifierMetrics, 'testCallbacks'>;
  /** Longest time of one request; milliseconds. */
  readonly totalTimeoutMs: number;
  readonly time: Time;
}

/**
 * Sends test callbacks: now, signed as callbacks are, marked by a header, without retries. They share with callbacks
 * the rules for addresses and time-outs, but no connection, queue or cap, and are stored nowhere.
 */
export class TestCallbacks {
  readonly #o: TestCallbacksOptions;
  readonly #underWay: TestsUnderWay;
  readonly #stop = new AbortController();

  constructor(options: TestCallbacksOptions) {
    this.#o = options;
    this.#underWay = new TestsUnderWay(options.time);
  }

  /**
   * Throws `destination_not_set` when the address or the key is missing, `too_many_requests` while too many of the
   * application are under way, `unavailable` while this process stops. What the receiver does wrong is an outcome.
   */
  async send(test: TestCallback, caller: AbortSignal): Promise<TestOutcome> {
    const leave = this.#underWay.enter(test.applicationId);
    const deadline = startDeadline(
      Math.min(this.#o.totalTimeoutMs, longestMs),
      AbortSignal.any([this.#stop.signal, caller]),
      this.#o.time,
    );
    try {
      const to = await this.#o.destinations.get(test.applicationId, test.destination);
      if (!to) {
        throw new DomainError(
          'destination_not_set',
          `The setting ${test.destination} or the authentication key is not set.`,
        );
      }
      const { authenticationKey } = to;
      const attempt = await this.#post(test, to, { authenticationKey, webhookId: test.webhookId }, deadline);
      const verification = test.verify ? await this.#verify(test, to, deadline) : undefined;
      // What was cut off on this side says nothing of the receiver.
      if (caller.aborted) throw new DomainError('unavailable', 'The caller has gone.');
      if (this.#stop.signal.aborted) {
        throw new DomainError('unavailable', 'The notifier is stopping.', { retryAfterMs: 1000 });
      }
      this.#o.metrics.testCallbacks.inc({ outcome: attempt.reason === '' ? 'delivered' : 'failed' });
      return { host: to.url.host, attempt, ...(verification && { verification }) };
    } finally {
      deadline.clear();
      leave();
    }
  }

  /** Ends what is on its way. */
  close(): void {
    this.#stop.abort(new Error('the notifier is shutting down'));
  }

  /** Sends it under another id and with signatures of a key that nobody has. */
  async #verify(
    test: TestCallback,
    to: DestinationAddress,
    deadline: Deadline,
  ): Promise<NonNullable<TestOutcome['verification']>> {
    const authenticationKey = randomBytes(32).toString('base64url');
    const webhookId = `${test.webhookId}-wrong-signature`;
    const attempt = await this.#post(test, to, { authenticationKey, webhookId }, deadline);
    const { statusCode } = attempt;
    const isRefused = statusCode >= 400 && statusCode < 500;
    const isTaken = statusCode >= 200 && statusCode < 300;
    return { attempt, ...((isRefused || isTaken) && { refused: isRefused }) };
  }

  #post(
    { applicationId, body }: TestCallback,
    to: DestinationAddress,
    { authenticationKey, webhookId }: { readonly authenticationKey: string; readonly webhookId: string },
    deadline: Deadline,
  ): Promise<TestResult> {
    const { url } = to;
    const attributes = { 'http.request.method': 'POST', 'server.address': url.hostname };
    return inSpan('test-callback.send', { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const { connect, time } = this.#o;
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'headset-cloud-notifier/1',
        applicationId,
        'X-TLPF-TEST': 'true',
        ...signatureHeaders({
          ...{ notificationId: webhookId, authenticationKey, body },
          timestampSeconds: Math.floor(time.now() / 1000),
        }),
      };
      // A receiver knows the application's key, too.
      const secrets = [to.authenticationKey];
      const result = await postTest(connect, url, headers, body, { deadline, time, secrets });
      span.setAttribute('http.response.status_code', result.statusCode);
      return result;
    });
  }
}
