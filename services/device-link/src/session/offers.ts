import { toBinary } from '@bufbuild/protobuf';
import { type Hello, type Offer, OfferSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetOnlineResponse } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { backoffMs } from '@headset-cloud/runtime/backoff.ts';
import { type Clock, monotonicMs, systemTime } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { callBackoff, retryWhile } from '../calls/retry.ts';
import { limits } from '../domain/limits.ts';
import { OfferQueue, type Release } from '../domain/offer-queue.ts';
import { OfferSequencer } from '../domain/offer-sequencer.ts';
import { AnnouncedActivation } from './announced-activation.ts';
import type { SessionContext } from './session-context.ts';
import { StartGrants } from './start-grants.ts';
import { Traces } from './traces.ts';
import type { TransactionsClient } from './transactions-client.ts';

/** Dependencies that all sessions of an instance share. */
export interface OffersDeps {
  readonly clock: Clock;
  /** How often a session is reconciled; milliseconds. */
  readonly reconcileEveryMs: number;
}

/** Time until the next reconciliation after a failed one; milliseconds. */
const retryAfterFailureMs = 30_000;
const endedReason = 'The transaction is over.';

const isLarge = (offer: Offer) => toBinary(OfferSchema, offer).length > limits.maxOfferBytesInMemory;

/**
 * Sends the operations of one session. Sends the offers of reconciliations and of Deliver in order. Requests a start
 * grant for each `ready`, and sends `start`, `drop` or `revoke`, as transactions answers. Sends nothing before the
 * first reconciliation (rule B1).
 */
export class Offers {
  readonly #session: SessionContext;
  readonly #transactions: TransactionsClient;
  readonly #deps: OffersDeps;
  readonly #queue = new OfferQueue<Offer>(isLarge);
  readonly #sequencer = new OfferSequencer<Offer | undefined>((offer, position) =>
    position < limits.maxOffersInMemory && offer && !isLarge(offer) ? offer : undefined,
  );
  readonly #traces = new Traces();
  readonly #grants: StartGrants;
  #activation = new AnnouncedActivation(undefined);
  #online = false;
  #reconciling = false;
  /** True if transactions has announced more offers, and no reconciliation that began after that has succeeded. */
  #more = false;
  /** True while operations that are not in memory are read. */
  #reading = false;
  /** Time of the last reconciliation, by the monotonic clock; milliseconds. */
  reconciledAtMs = 0;

  constructor(session: SessionContext, transactions: TransactionsClient, deps: OffersDeps) {
    this.#session = session;
    this.#transactions = transactions;
    this.#deps = deps;
    this.#grants = new StartGrants(session, (id) => transactions.requestStartGrant(id, this.#traces.of(id)));
  }

  /** True after the first reconciliation: offers are sent. */
  get online(): boolean {
    return this.#online;
  }

  /** When the oldest unanswered offer was sent, by the monotonic clock; undefined if there is none. */
  get oldestUnansweredMs(): number | undefined {
    return this.#queue.oldestUnansweredMs();
  }

  /** The traceparent of a transaction; empty without a trace. */
  traceOf(id: bigint | undefined): string {
    return this.#traces.of(id);
  }

  /**
   * Reconciles the session for the first time, with retries until the session ends. `welcomedEpoch`: the activation
   * epoch in the welcome, if any.
   */
  async open(hello: Hello, afterUnresponsive: boolean, welcomedEpoch: bigint | undefined): Promise<void> {
    const { isAlive, logFailure, send } = this.#session;
    this.#activation = new AnnouncedActivation(welcomedEpoch);
    const found = await retryWhile(
      isAlive,
      () =>
        this.#transactions.reconcileFirst({ held: hello.held, afterUnresponsive }, this.#beginReconciliation),
      (error, attempt) => logFailure('the first reconciliation failed', error, attempt),
    );
    if (!found || !isAlive()) return;
    for (const id of found.dropTransactionIds) {
      send({ case: 'drop', value: { transactionId: id, reason: endedReason } });
    }
    for (const id of found.startTransactionIds) {
      this.#queue.started(Number(id));
      this.#start(id);
    }
    for (const { transactionId, reason } of found.revocations) {
      send({ case: 'revoke', value: { transactionId, reason } });
    }
    this.reconciledAtMs = this.#nowMs();
    this.#online = true;
    this.#addOffers(found);
    for (const id of this.#grants.takeEarly()) this.ready(id);
  }

  /**
   * Reconciles the session again (rule B5), which offers transactions that were not offered in this session. Never
   * throws. After an error, retries at once with a backoff if offers are missing, otherwise after 30 s.
   */
  async reconcile(): Promise<void> {
    if (this.#reconciling) return;
    this.#reconciling = true;
    for (let attempt = 1; ; attempt += 1) {
      const nowMs = this.#nowMs();
      this.reconciledAtMs = nowMs;
      const more = this.#more;
      this.#more = false;
      try {
        await this.#reconcileOnce();
        attempt = 0;
      } catch (error) {
        this.#more ||= more;
        this.#sequencer.failed();
        this.#session.logFailure('a repeated reconciliation failed', error, attempt);
        // The next periodic reconciliation follows after `retryAfterFailureMs`.
        this.reconciledAtMs = nowMs - this.#deps.reconcileEveryMs + retryAfterFailureMs;
        if (this.#missesOffers) await systemTime.sleep(backoffMs(attempt, callBackoff), { ref: false });
      }
      if (!this.#missesOffers) break;
    }
    this.#reconciling = false;
  }

  /**
   * Accepts an offer. Sends the offer at once, or after a reconciliation if this session does not know the device's
   * previous operation. Throws `unavailable` if too many offers wait; further offers then come from a
   * reconciliation.
   */
  deliver(offer: Offer, previousId: number): void {
    const id = Number(offer.transactionId);
    if (this.#queue.knows(id)) return;
    const isFull = this.#queue.pendingCount + this.#sequencer.waitingCount >= limits.maxPendingOffers;
    const taken = this.#sequencer.take({ id, previousId, offer }, isFull, (other) =>
      this.#queue.knows(other),
    );
    if (taken === 'now') {
      this.#queue.add(id, offer);
      this.flush();
      return;
    }
    this.#reconcileIfOffersMissing();
    if (taken === 'waits') return;
    throw new DomainError('unavailable', 'Too many transactions wait for this headset.', {
      retryAfterMs: 1000,
    });
  }

  /** Reconciles again, because transactions has offers that the last or current reconciliation may not return. */
  hasMore(): void {
    this.#more = true;
    this.#reconcileIfOffersMissing();
  }

  /** Drops canceled transactions, including started ones. */
  withdraw(ids: readonly number[], reason: string): void {
    this.#sequencer.forget(new Set(ids));
    this.#sendReleased(this.#queue.withdraw(ids, reason));
  }

  /** Handles a ready: requests the start grant (rule B1). */
  ready(id: number): void {
    if (!this.#online) this.#grants.keepEarly(id);
    else if (this.#queue.ready(id, this.#nowMs()) === 'request') {
      void this.#grants.request(id, ({ answer, reason }) => {
        this.#sendReleased(this.#queue.grantAnswered(id, answer, reason));
        this.flush();
      });
    }
  }

  /** Sends the offers that may be sent now. */
  flush(): void {
    if (!this.#online) return;
    this.#sendOffers();
    this.#reconcileIfOffersMissing();
  }

  /** Prepares a reconciliation; called just before the call. Returns false if the session has ended. */
  readonly #beginReconciliation = (): boolean => {
    if (!this.#session.isAlive()) return false;
    this.#sequencer.begin();
    return true;
  };

  async #reconcileOnce(): Promise<void> {
    const found = await this.#transactions.reconcileAgain(this.#beginReconciliation);
    if (!found || !this.#session.isAlive()) return;
    this.withdraw(found.dropTransactionIds.map(Number), endedReason);
    this.#addOffers(found);
  }

  /** True if transactions has, or may have, offers that this session does not have and can accept now. */
  get #missesOffers(): boolean {
    if (!this.#session.isAlive()) return false;
    const hasSpace = this.#queue.pendingCount <= limits.maxPendingOffers / 2;
    return this.#more || this.#sequencer.waitingCount > 0 || (this.#sequencer.behind && hasSpace);
  }

  #reconcileIfOffersMissing(): void {
    if (this.#online && this.#missesOffers) void this.reconcile();
  }

  #nowMs(): number {
    return monotonicMs(this.#deps.clock);
  }

  /** Queues the offers of a reconciliation up to the limit; a later reconciliation returns the others. */
  #addOffers({ offers, judgedThroughId }: HeadsetOnlineResponse): void {
    const knows = (id: number) => this.#queue.knows(id);
    const unknown = offers.filter((offer) => !knows(Number(offer.transactionId)));
    const space = Math.max(0, limits.maxPendingOffers - this.#queue.pendingCount);
    for (const offer of unknown.slice(0, space)) {
      this.#queue.add(Number(offer.transactionId), offer.operation && offer);
    }
    const next = this.#sequencer.reconciled(Number(judgedThroughId), unknown.length > space, knows);
    for (const { id, offer } of next) this.#queue.add(id, offer);
    this.flush();
  }

  #sendOffers(): void {
    const { isAlive, flow, send } = this.#session;
    while (isAlive() && !flow.blocked) {
      const offer = this.#queue.next(this.#nowMs());
      if (!offer) {
        this.#readMissing();
        return;
      }
      this.#traces.remember(Number(offer.transactionId), offer.traceparent);
      this.#activation.offered(offer);
      send({ case: 'offer', value: offer });
    }
  }

  /** Reads the operations of the next offers from transactions, if they are not in memory (rule B5). */
  #readMissing(): void {
    const ids = this.#queue.missing(limits.maxOffersRead);
    if (ids.length > 0 && !this.#reading) void this.#readOffers(ids);
  }

  async #readOffers(ids: readonly number[]): Promise<void> {
    const { isAlive, logFailure } = this.#session;
    this.#reading = true;
    const answer = await retryWhile(
      isAlive,
      () => this.#transactions.readOffers(ids),
      (error, attempt) => logFailure('offers could not be read', error, attempt),
    );
    this.#reading = false;
    if (!answer || !isAlive()) return;
    const offers = new Map(answer.offers.map((offer) => [Number(offer.transactionId), offer]));
    this.#queue.storeRead(ids.slice(0, answer.answered), offers);
    this.flush();
  }

  #sendReleased(released: readonly Release[]): void {
    const { send } = this.#session;
    for (const { id, answer, reason } of released) {
      const transactionId = BigInt(id);
      if (answer === 'start') this.#start(transactionId);
      else if (answer === 'revoke') send({ case: 'revoke', value: { transactionId, reason } });
      else {
        this.#activation.dropped(id);
        send({ case: 'drop', value: { transactionId, reason } });
      }
    }
    if (released.length > 0) this.flush();
  }

  /** Sends a start. If a welcome must announce the activation first, ends the session instead (rule A7). */
  #start(transactionId: bigint): void {
    if (this.#activation.start(Number(transactionId))) {
      this.#session.send({ case: 'start', value: { transactionId } });
    } else this.#session.reconnectForWelcome();
  }
}
