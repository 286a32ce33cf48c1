import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { currentTraceparent, inSpan, SpanKind } from '@headset-cloud/runtime/telemetry.ts';
import type { QueueEntry } from '../domain/chain.ts';
import { type Delivery, laneOf, laneParts } from '../domain/delivery.ts';
import type { TryOutcome } from '../domain/next-step.ts';
import { type AttemptResult, type AttemptRules, afterAttempt, outcomeOf } from '../domain/outcome.ts';
import { endsAtMs } from '../domain/time-limit.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { CallbackSender } from '../ports/callback-sender.ts';
import type { DestinationAddress } from '../ports/destination-address.ts';
import type { Destinations } from '../ports/destinations.ts';
import type { DestinationHealth } from './destination-health.ts';
import type { ReadinessCheck } from './readiness.ts';

/** Whether a request may be made for a delivery, by its time limit, order, lease and URL. */
export type Admission = { kind: 'admitted'; to: DestinationAddress } | TryOutcome;

export interface AttemptsOptions {
  readonly clock: Clock;
  readonly readiness: Pick<ReadinessCheck, 'of'>;
  readonly destinations: Destinations;
  readonly sender: CallbackSender;
  readonly metrics: Pick<NotifierMetrics, 'attempts' | 'deliverySeconds'>;
  readonly rules: AttemptRules;
  readonly random: () => number;
}

/** The two parts of a try: admission with the current URL, and the request. */
export class Attempts {
  readonly #o: AttemptsOptions;
  readonly #stop = new AbortController();

  constructor(options: AttemptsOptions) {
    this.#o = options;
  }

  /** Aborts the requests in flight. */
  abort(): void {
    this.#stop.abort(new Error('the notifier is shutting down'));
  }

  /** Rejects when the database or devices is unavailable. */
  async admit(lane: string, entry: QueueEntry): Promise<Admission> {
    const { clock, readiness, destinations, rules } = this.#o;
    if (clock.now() >= endsAtMs(entry.delivery, rules.limit)) return { kind: 'over' };
    const ready = await readiness.of(entry);
    if (ready.kind !== 'ready') return ready;
    const { applicationId, destination } = laneParts(lane);
    const to = await destinations.get(applicationId, destination);
    return to ? { kind: 'admitted', to } : { kind: 'unset' };
  }

  /** Makes the request, and reports its result to the destination's health. */
  async send(entry: QueueEntry, to: DestinationAddress, health: DestinationHealth): Promise<TryOutcome> {
    const { metrics, rules, random } = this.#o;
    const { delivery } = entry;
    const lane = laneOf(delivery.applicationId, delivery.destination);
    const isProbe = health.breaker.failing;
    health.breaker.enter();
    const result = await this.#post(delivery, to);
    if (this.#stop.signal.aborted && result.statusCode === 0) {
      health.breaker.leave();
      return { kind: 'aborted' };
    }
    const outcome = outcomeOf(result);
    metrics.attempts.inc({ outcome });
    const change = afterAttempt(delivery, result, rules, health.probes.countFor(delivery), random());
    if (outcome === 'delivered') {
      metrics.deliverySeconds.observe(
        Math.max(0, result.atMs + result.durationMs - delivery.budgetFromMs) / 1000,
      );
    }
    if (isProbe && outcome !== 'delivered') health.probes.note(delivery.id);
    health.report(outcome, lane, result);
    return { kind: 'attempted', change };
  }

  /** Signs the body and sends it, within a span of the trace that caused the callback. */
  #post(delivery: Delivery, to: DestinationAddress): Promise<AttemptResult> {
    const { clock, sender } = this.#o;
    const { id, body, applicationId, traceparent } = delivery;
    return inSpan(
      'callback.send',
      {
        kind: SpanKind.CLIENT,
        parent: traceparent,
        attributes: {
          'http.request.method': 'POST',
          'server.address': to.url.hostname,
          'notification.id': id,
          'notification.attempt': delivery.attempts + 1,
        },
      },
      async (span) => {
        const trace = currentTraceparent() || traceparent;
        const headers = {
          'content-type': 'application/json',
          'user-agent': 'headset-cloud-notifier/1',
          applicationId,
          ...signatureHeaders({
            notificationId: id,
            authenticationKey: to.authenticationKey,
            body,
            timestampSeconds: Math.floor(clock.now() / 1000),
          }),
          ...(trace && { traceparent: trace }),
        };
        const answer = await sender.send({ ...to, headers, body }, this.#stop.signal);
        span.setAttribute('http.response.status_code', answer.statusCode);
        if (answer.error) span.setAttribute('error.type', answer.error);
        return answer;
      },
    );
  }
}
