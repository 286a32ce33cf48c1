import { randomUUID } from 'node:crypto';
import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import type { Time } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { currentTraceparent, inSpan, SpanKind } from '@headset-cloud/runtime/telemetry.ts';
import type { SignedUrlsSetting } from '../domain/delivery.ts';
import { checkAnswer } from '../domain/signed-urls.ts';
import { startDeadline } from '../http/deadline.ts';
import { describeFailure } from '../http/sender.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { BoundedRequester } from '../ports/bounded-requester.ts';
import type { DestinationAddress } from '../ports/destination-address.ts';
import type { Destinations } from '../ports/destinations.ts';
import type { DestinationSlots } from './slots.ts';

export interface SignedUrlsRequest {
  readonly applicationId: string;
  readonly setting: SignedUrlsSetting;
  /** JSON, signed and sent unchanged. */
  readonly body: Uint8Array;
  readonly maxAnswerBytes: number;
}

export interface SignedUrlsOptions {
  readonly destinations: Destinations;
  readonly requester: BoundedRequester;
  readonly slots: DestinationSlots;
  readonly metrics: Pick<NotifierMetrics, 'signedUrlRequests'>;
  /** From the call to the end of the answer, including waiting; milliseconds. */
  readonly totalTimeoutMs: number;
  readonly time: Time;
}

/**
 * Requests signed URLs from integrators: one POST, signed like callbacks, without retries. The rules for addresses and
 * time-outs are those of callbacks. Connections, queue and limit are separate, so that neither delays the other.
 */
export class SignedUrls {
  readonly #o: SignedUrlsOptions;
  readonly #stop = new AbortController();

  constructor(options: SignedUrlsOptions) {
    this.#o = options;
  }

  /**
   * Returns the bytes of a JSON object. Throws `destination_not_set` when the address or the key is missing,
   * `integrator_failed` for every failure on the integrator's side, and `unavailable` when the caller aborts or this
   * process stops.
   */
  async request(request: SignedUrlsRequest, caller: AbortSignal): Promise<Buffer> {
    const { destinations, slots, metrics, totalTimeoutMs, time } = this.#o;
    const { applicationId, setting } = request;
    const deadline = startDeadline(totalTimeoutMs, AbortSignal.any([this.#stop.signal, caller]), time);
    try {
      const to = await destinations.get(applicationId, setting);
      if (!to) {
        metrics.signedUrlRequests.inc({ outcome: 'not_set' });
        throw new DomainError(
          'destination_not_set',
          `The setting ${setting} or the authentication key is not set.`,
        );
      }
      let problem: string;
      try {
        const release = await slots.take(`${to.url.origin} ${applicationId}`, deadline.signal);
        try {
          const answer = await this.#post(request, to, deadline);
          const checked = checkAnswer(answer.statusCode, answer.body);
          if ('json' in checked) {
            metrics.signedUrlRequests.inc({ outcome: 'answered' });
            return checked.json;
          }
          problem = checked.problem;
        } finally {
          release();
        }
      } catch (error) {
        problem = describeFailure(error);
      }
      // An abort on this side says nothing about the endpoint.
      if (caller.aborted) throw new DomainError('unavailable', 'The caller has closed the call.');
      if (this.#stop.signal.aborted) {
        throw new DomainError('unavailable', 'The notifier is stopping.', { retryAfterMs: 1000 });
      }
      metrics.signedUrlRequests.inc({ outcome: 'failed' });
      throw new DomainError('integrator_failed', 'The signed URL could not be obtained.', {
        internal: `${setting} of ${applicationId} at ${to.url.host}: ${problem}`,
      });
    } finally {
      deadline.clear();
    }
  }

  /** Aborts requests in flight. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the notifier is shutting down'));
    await this.#o.requester.close();
  }

  #post(
    { body, applicationId, setting, maxAnswerBytes }: SignedUrlsRequest,
    to: DestinationAddress,
    deadline: ReturnType<typeof startDeadline>,
  ) {
    return inSpan(
      'signed-urls.request',
      {
        kind: SpanKind.CLIENT,
        attributes: {
          'http.request.method': 'POST',
          'server.address': to.url.hostname,
          'notification.setting': setting,
        },
      },
      async (span) => {
        const traceparent = currentTraceparent();
        const headers = {
          'content-type': 'application/json',
          accept: 'application/json',
          'user-agent': 'headset-cloud-notifier/1',
          applicationId,
          ...signatureHeaders({
            notificationId: randomUUID(),
            authenticationKey: to.authenticationKey,
            body,
            timestampSeconds: Math.floor(this.#o.time.now() / 1000),
          }),
          ...(traceparent && { traceparent }),
        };
        const answer = await this.#o.requester.post(to.url, headers, body, { maxAnswerBytes, deadline });
        span.setAttribute('http.response.status_code', answer.statusCode);
        return answer;
      },
    );
  }
}
