import type { ServiceContext } from '@headset-cloud/kit/service.ts';
import { currentTraceparent, inSpan, SpanKind } from '@headset-cloud/kit/telemetry.ts';
import type { Held } from '../domain/chain.ts';
import type { Delivery, DeliveryChange } from '../domain/delivery.ts';
import { type AttemptRules, afterAttempt, outcomeWord } from '../domain/outcome.ts';
import { signatureHeaders } from '../domain/signing.ts';
import type { NotifierMetrics } from '../metrics.ts';
import type { CallbackSender, DeliveryStore, DestinationAddress, Predecessor } from '../ports.ts';
import type { FinishedOrders } from './finished-orders.ts';
import type { Marks } from './marks.ts';

/** A lease that ends sooner than this is renewed before a request goes out. */
const leaseMarginMs = 1000;
/** How soon to look again at a predecessor that another instance works on. */
const busyPredecessorMs = 300;
const maxBlockedMs = 30_000;

/**
 * Whether a delivery may go out now; blocked: an earlier one of its order key is not finished.
 * overtaken: a progress that is behind its time. lost: another instance has it.
 */
export type Readiness =
  | { kind: 'ready' }
  | { kind: 'lost' | 'overtaken' }
  | { kind: 'blocked'; untilMs: number };

/** What came of an attempt. */
export interface Attempted {
  readonly change: DeliveryChange & { status: 'delivered' | 'dead' | 'pending' };
  /** False: there was no answer, or none that says the destination works. */
  readonly answered: 'took' | 'refused' | 'gone';
  readonly retryAfterMs?: number;
}

export interface AttemptsOptions {
  readonly ctx: ServiceContext;
  readonly store: DeliveryStore;
  readonly sender: CallbackSender;
  readonly marks: Marks;
  readonly finished: FinishedOrders;
  readonly metrics: Pick<NotifierMetrics, 'attempts' | 'deliverySeconds'>;
  readonly rules: AttemptRules;
  readonly leaseMs: number;
  readonly random: () => number;
}

/** The steps of one attempt: may it go out, and sending it. */
export class Attempts {
  readonly #o: AttemptsOptions;
  readonly #stop = new AbortController();

  constructor(options: AttemptsOptions) {
    this.#o = options;
  }

  /** Cuts off the requests that are on their way. */
  cut(): void {
    this.#stop.abort(new Error('the notifier is shutting down'));
  }

  get cutOff(): boolean {
    return this.#stop.signal.aborted;
  }

  /**
   * Looks whether everything earlier of its order key is finished, and whether this instance still
   * owns it: it may have been stopped for longer than its lease, or the database been away. Rejects
   * when the database cannot tell.
   */
  async readiness(held: Held): Promise<Readiness> {
    const { store, ctx, finished } = this.#o;
    const { delivery } = held;
    const { order, orderKey, sequence } = delivery;
    // An event can come late: published by an instance that was stopped before, or once more after a crash.
    if (order === 'ended' && delivery.replaceable && (await store.isOvertaken(delivery)))
      return { kind: 'overtaken' };
    const patienceMs = order === 'tried' ? held.patientUntilMs - performance.now() : maxBlockedMs;
    if (order !== 'none' && patienceMs > 0 && !finished.knows(delivery)) {
      const earlier = await (order === 'ended'
        ? this.#unfinishedBefore(orderKey, sequence)
        : this.#untriedBefore(orderKey, sequence));
      const now = ctx.clock.now();
      let untilMs = 0;
      for (const p of earlier) {
        if (p.replaceable && p.owner === null && !p.takenOver && (await store.replaceIfFree(p.id, now)))
          continue;
        const wanted = p.owner === null ? p.dueAtMs : 0;
        untilMs = Math.max(
          untilMs,
          Math.min(Math.max(wanted, now + busyPredecessorMs), now + maxBlockedMs, now + patienceMs),
        );
      }
      if (untilMs > 0) return { kind: 'blocked', untilMs };
      finished.set(orderKey, sequence - 1);
    }
    const now = ctx.clock.now();
    if (held.leaseUntilMs - now > Math.min(leaseMarginMs, this.#o.leaseMs / 2)) return { kind: 'ready' };
    const leaseUntilMs = now + this.#o.leaseMs;
    const mine = await store.renew([delivery.id], leaseUntilMs);
    if (!mine.has(delivery.id)) return { kind: 'lost' };
    held.leaseUntilMs = leaseUntilMs;
    return { kind: 'ready' };
  }

  /**
   * What is stored before `sequence` and not finished. Events of an order key are stored in their
   * order, so one that is not stored yet comes later. One that ended without being delivered counts
   * as finished only when that is stored: otherwise it would go out after a crash, later than what
   * followed it. One that was delivered would only be repeated then (rule B10).
   */
  async #unfinishedBefore(orderKey: string, sequence: number): Promise<Predecessor[]> {
    const { store, marks } = this.#o;
    const undelivered = async () => {
      const found = await store.predecessors(orderKey, sequence, 'ended');
      return found.filter((p) => marks.endOf(p.id) !== 'delivered');
    };
    const found = await undelivered();
    const ending = found.filter((p) => marks.endOf(p.id) !== undefined).map((p) => p.id);
    if (ending.length === 0) return found;
    await marks.stored(ending);
    return await undelivered();
  }

  /**
   * What is stored before `sequence` and was not tried yet. That one was tried stays true when it is
   * not stored: if it goes out again after a crash, that is a repeat.
   */
  async #untriedBefore(orderKey: string, sequence: number): Promise<Predecessor[]> {
    const { store, marks } = this.#o;
    const found = await store.predecessors(orderKey, sequence, 'tried');
    return found.filter((p) => !marks.left(p.id));
  }

  /**
   * Signs and sends it; `probes` tells those of others that count as its attempts. Undefined: cut off by
   * a shutdown, which is no attempt.
   */
  async send(
    held: Held,
    to: DestinationAddress,
    probes: (delivery: Delivery) => number,
  ): Promise<Attempted | undefined> {
    const { ctx, sender, metrics, rules, random } = this.#o;
    const { delivery } = held;
    const { id, body, applicationId, traceparent } = delivery;
    const result = await inSpan(
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
            timestampSeconds: Math.floor(ctx.clock.now() / 1000),
          }),
          ...(trace && { traceparent: trace }),
        };
        const answer = await sender.send(to.url, headers, body, this.#stop.signal);
        span.setAttribute('http.response.status_code', answer.statusCode);
        if (answer.error) span.setAttribute('error.type', answer.error);
        return answer;
      },
    );
    if (this.cutOff && result.statusCode === 0) return undefined;
    const word = outcomeWord(result);
    metrics.attempts.inc({ outcome: word });
    const change = afterAttempt(delivery, result, rules, probes(delivery), random());
    if (word === 'delivered') {
      ctx.failpoints('notifier.sent');
      metrics.deliverySeconds.observe(
        Math.max(0, result.atMs + result.durationMs - delivery.createdAtMs) / 1000,
      );
    }
    return {
      change,
      answered: word === 'delivered' ? 'took' : word === 'gone' ? 'gone' : 'refused',
      ...(result.retryAfterMs !== undefined && { retryAfterMs: result.retryAfterMs }),
    };
  }
}
