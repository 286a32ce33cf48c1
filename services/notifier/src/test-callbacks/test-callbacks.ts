import { randomBytes } from 'node:crypto';
import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { inSpan, SpanKind } from '@headset-cloud/runtime/telemetry.ts';
import type { buildConnector } from 'undici';
import type { DestinationSetting } from '../domain/delivery.ts';
import { type Deadline, startDeadline } from '../http/deadline.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { DestinationAddress } from '../ports/destination-address.ts';
import type { Destinations } from '../ports/destinations.ts';
import { postTest, type TestResult } from './request.ts';
import { TestsInProgress } from './tests-in-progress.ts';

/** Longest time of a test with all its requests, so that the gateway can return the outcome; milliseconds. */
const longestMs = 13_000;

export interface TestCallback {
  readonly applicationId: string;
  readonly destination: DestinationSetting;
  /** JSON, signed and sent unchanged. */
  readonly body: Uint8Array;
  /** The same id for each repeat of a request. */
  readonly webhookId: string;
  /** True to send the callback a second time, with a wrong signature. */
  readonly verify: boolean;
}

/** Outcome of a test callback. */
export interface TestOutcome {
  readonly host: string;
  readonly attempt: TestResult;
  /** Absent if not requested. `refused` is absent if neither a 2xx nor a 4xx arrived. */
  readonly verification?: { readonly refused?: boolean; readonly attempt: TestResult };
}

export interface TestCallbacksOptions {
  readonly destinations: Destinations;
  /** Checks addresses and uses the egress proxy, like for callbacks. */
  readonly connect: buildConnector.connector;
  readonly metrics: Pick<NotifierMetrics, 'testCallbacks'>;
  /** Longest time of one request; milliseconds. */
  readonly totalTimeoutMs: number;
  readonly time: Time;
}

/**
 * Sends test callbacks: at once, signed like callbacks, marked by a header, without retries. The rules for addresses
 * and time-outs are those of callbacks. Connections and limit are separate, and test callbacks are not stored as
 * deliveries.
 */
export class TestCallbacks {
  readonly #o: TestCallbacksOptions;
  readonly #inProgress: TestsInProgress;
  readonly #stop = new AbortController();

  constructor(options: TestCallbacksOptions) {
    this.#o = options;
    this.#inProgress = new TestsInProgress(options.time);
  }

  /**
   * Throws `destination_not_set` when the address or the key is missing, `too_many_requests` while too many test
   * callbacks of the application are running, `unavailable` while this process stops. A failure of the receiver is an
   * outcome.
   */
  async send(test: TestCallback, caller: AbortSignal): Promise<TestOutcome> {
    const leave = this.#inProgress.enter(test.applicationId);
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
      // An abort on this side says nothing about the receiver.
      if (caller.aborted) throw new DomainError('unavailable', 'The caller has closed the call.');
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

  /** Aborts requests in flight. */
  close(): void {
    this.#stop.abort(new Error('the notifier is shutting down'));
  }

  /** Sends the test callback with another id and with signatures of an unknown key. */
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
      // A receiver knows the application's key and may return it in the answer.
      const secrets = [to.authenticationKey];
      const result = await postTest(connect, url, headers, body, { deadline, time, secrets });
      span.setAttribute('http.response.status_code', result.statusCode);
      return result;
    });
  }
}
