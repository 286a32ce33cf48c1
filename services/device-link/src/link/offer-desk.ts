import { toBinary } from '@bufbuild/protobuf';
import { type Hello, type Offer, OfferSchema } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetOnlineResponse } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { backoffMs } from '@headset-cloud/runtime/backoff.ts';
import { type Clock, monotonicMs } from '@headset-cloud/runtime/clock.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { limits } from '../domain/limits.ts';
import { OfferBook, type PermitAnswer, type Release } from '../domain/offer-book.ts';
import { Turn } from '../domain/turn.ts';
import type { Conversation } from './conversation.ts';
import { callBackoff, pause, retryWhile } from './retry.ts';
import type { SessionJudge } from './session-judge.ts';
import { StartPermits } from './start-permits.ts';
import { ToldActivation } from './told-activation.ts';
import { Traces } from './traces.ts';

/** What the offer desks of an instance share. */
export interface OfferDeskDeps {
  readonly clock: Clock;
  /** How often a session is judged again; milliseconds. */
  readonly rejudgeEveryMs: number;
}

/** How long a repeated judgement that failed waits; milliseconds. */
const rejudgeAfterFailureMs = 30_000;
const overReason = 'The transaction is over.';

const isLarge = (offer: Offer) => toBinary(OfferSchema, offer).length > limits.maxWholeOfferBytes;

/**
 * Brings one session its operations: has the session judged, offers what the judgement and the hand-overs
 * bring, in order, asks for a start permit for each `ready`, and sends what the permits say. Sends
 * nothing before the first judgement (rule B1).
 */
export class OfferDesk {
  readonly #session: Conversation;
  readonly #judge: SessionJudge;
  readonly #deps: OfferDeskDeps;
  readonly #book = new OfferBook<Offer>(isLarge);
  readonly #turn = new Turn<Offer | undefined>((offer, place) =>
    place < limits.maxWholeOffers && offer && !isLarge(offer) ? offer : undefined,
  );
  readonly #traces = new Traces();
  readonly #permits: StartPermits;
  #activation = new ToldActivation(undefined);
  #online = false;
  #judgingAgain = false;
  /** Transactions have said that there is more, and no judgement that began since has succeeded. */
  #more = false;
  #reading = false;
  /** When the session was judged last, by the monotonic clock; milliseconds. */
  judgedAtMs = 0;

  constructor(session: Conversation, judge: SessionJudge, deps: OfferDeskDeps) {
    this.#session = session;
    this.#judge = judge;
    this.#deps = deps;
    this.#permits = new StartPermits({
      ask: (id) => judge.askPermit(id, this.#traces.of(id)),
      answered: (id, { answer, reason }) => this.#permitAnswered(id, answer, reason),
      setFull: (full) => session.flow.stall('permits', full),
      setEarlyFull: (full) => session.flow.stall('readies', full),
      alive: session.isAlive,
      failed: (error, attempt) => session.complain('a start could not be asked for', error, attempt),
    });
  }

  /** The session was judged: offers go out. */
  get online(): boolean {
    return this.#online;
  }

  /** When the oldest offer without an answer was sent, by the monotonic clock; undefined: there is none. */
  get oldestUnansweredMs(): number | undefined {
    return this.#book.oldestUnansweredMs();
  }

  /** The traceparent of a transaction; empty when it is not traced. */
  traceOf(id: bigint | undefined): string {
    return this.#traces.of(id);
  }

  /**
   * Has the session judged for the first time, until that succeeds or the session ends. `welcomedEpoch`: the
   * activation epoch that the welcome carried, if any.
   */
  async open(hello: Hello, afterUnresponsive: boolean, welcomedEpoch: bigint | undefined): Promise<void> {
    const { isAlive, complain, send } = this.#session;
    this.#activation = new ToldActivation(welcomedEpoch);
    const judgement = await retryWhile(
      isAlive,
      () => this.#judge.judge({ held: hello.held, afterUnresponsive }, this.#beginJudgement),
      (error, attempt) => complain('the online sweep failed', error, attempt),
    );
    if (!judgement || !isAlive()) return;
    for (const id of judgement.dropTransactionIds) {
      send({ case: 'drop', value: { transactionId: id, reason: overReason } });
    }
    for (const id of judgement.startTransactionIds) {
      this.#book.started(Number(id));
      this.#start(id);
    }
    for (const { transactionId, reason } of judgement.revocations) {
      send({ case: 'revoke', value: { transactionId, reason } });
    }
    this.judgedAtMs = this.#monotonic();
    this.#online = true;
    this.#addJudged(judgement);
    for (const id of this.#permits.takeEarly()) this.ready(id);
  }

  /**
   * Has the session judged again (rule B5): what waits for the headset and was not written to this session
   * is offered now. A failure is tried again a little later.
   */
  async judgeAgain(): Promise<void> {
    if (this.#judgingAgain) return;
    this.#judgingAgain = true;
    for (let attempt = 1; ; attempt += 1) {
      const now = this.#monotonic();
      this.judgedAtMs = now;
      const more = this.#more;
      this.#more = false;
      try {
        await this.#judgeOnceMore();
        attempt = 0;
      } catch (error) {
        this.#more ||= more;
        this.#turn.failed();
        this.#session.complain('a session could not be judged again', error, attempt);
        this.judgedAtMs = now - this.#deps.rejudgeEveryMs + rejudgeAfterFailureMs;
        if (this.#missesSome) await pause(backoffMs(attempt, callBackoff));
      }
      if (!this.#missesSome) break;
    }
    this.#judgingAgain = false;
  }

  /**
   * Takes an offer to be sent: at once, or behind a judgement, where the operation before it is not known
   * here. Throws `unavailable` when too many wait already: then nothing is taken until those are offered,
   * and what was refused comes with a judgement.
   */
  deliver(offer: Offer, previousId: number): void {
    const id = Number(offer.transactionId);
    if (this.#book.knows(id)) return;
    const isFull = this.#book.pendingCount + this.#turn.waitingCount >= limits.maxPendingOffers;
    const taken = this.#turn.take({ id, previousId, offer }, isFull, (other) => this.#book.knows(other));
    if (taken === 'now') {
      this.#book.add(id, offer);
      this.flush();
      return;
    }
    this.#catchUp();
    if (taken === 'waits') return;
    throw new DomainError('unavailable', 'Too many transactions wait for this headset.', {
      retryAfterMs: 1000,
    });
  }

  /** Transactions have something for this session that its judgement may not bring: it is judged again. */
  hasMore(): void {
    this.#more = true;
    this.#catchUp();
  }

  /** Transactions were canceled: what this session has of them is dropped, also what is started. */
  withdraw(ids: readonly number[], reason: string): void {
    this.#turn.forget(new Set(ids));
    this.#sendReleased(this.#book.withdraw(ids, reason));
  }

  /** The headset is ready to start a transaction: asks for the start permit (rule B1). */
  ready(id: number): void {
    if (!this.#online) this.#permits.keepEarly(id);
    else if (this.#book.ready(id, this.#monotonic()) === 'ask') void this.#permits.ask(id);
  }

  /** Sends the offers that may be sent now. */
  flush(): void {
    if (!this.#online) return;
    this.#sendOffers();
    this.#catchUp();
  }

  /** The turn of a judgement has come; false: the session ended while it stood in the queue. */
  readonly #beginJudgement = (): boolean => {
    if (!this.#session.isAlive()) return false;
    this.#turn.begin();
    return true;
  };

  async #judgeOnceMore(): Promise<void> {
    const judgement = await this.#judge.judgeAgain(this.#beginJudgement);
    if (!judgement || !this.#session.isAlive()) return;
    this.withdraw(judgement.dropTransactionIds.map(Number), overReason);
    this.#addJudged(judgement);
  }

  /** Something is to be offered that only transactions know, and there is room for it. */
  get #missesSome(): boolean {
    if (!this.#session.isAlive()) return false;
    const hasRoom = this.#book.pendingCount <= limits.maxPendingOffers / 2;
    return this.#more || this.#turn.waitingCount > 0 || (this.#turn.behind && hasRoom);
  }

  #catchUp(): void {
    if (this.#online && this.#missesSome) void this.judgeAgain();
  }

  #monotonic(): number {
    return monotonicMs(this.#deps.clock);
  }

  /** Takes what a judgement offers, as much as there is room for; the rest comes with a later one. */
  #addJudged({ offers, judgedThroughId }: HeadsetOnlineResponse): void {
    const knows = (id: number) => this.#book.knows(id);
    const unknown = offers.filter((offer) => !knows(Number(offer.transactionId)));
    const room = limits.maxPendingOffers - this.#book.pendingCount;
    for (const offer of unknown.slice(0, room)) {
      this.#book.add(Number(offer.transactionId), offer.operation && offer);
    }
    const more = this.#turn.judged(Number(judgedThroughId), unknown.length > room, knows);
    for (const { id, offer } of more) this.#book.add(id, offer);
    this.flush();
  }

  #sendOffers(): void {
    const { isAlive, flow, send } = this.#session;
    while (isAlive() && !flow.blocked) {
      const offer = this.#book.next(this.#monotonic());
      if (!offer) {
        this.#readLacking();
        return;
      }
      this.#traces.remember(Number(offer.transactionId), offer.traceparent);
      this.#activation.offered(offer);
      send({ case: 'offer', value: offer });
    }
  }

  /** A judgement left out the operations of the next offers: reads them, and continues (rule B5). */
  #readLacking(): void {
    const ids = this.#book.lacking(limits.maxOffersRead);
    if (ids.length > 0 && !this.#reading) void this.#readOffers(ids);
  }

  async #readOffers(ids: readonly number[]): Promise<void> {
    const { isAlive, complain } = this.#session;
    this.#reading = true;
    const answer = await retryWhile(
      isAlive,
      () => this.#judge.readOffers(ids),
      (error, attempt) => complain('offers could not be read', error, attempt),
    );
    this.#reading = false;
    if (!answer || !isAlive()) return;
    const offers = new Map(answer.offers.map((offer) => [Number(offer.transactionId), offer]));
    this.#book.read(ids.slice(0, answer.answered), offers);
    this.flush();
  }

  #permitAnswered(id: number, answer: PermitAnswer, reason: string): void {
    this.#sendReleased(this.#book.permitAnswered(id, answer, reason));
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

  /** Sends a start, or has the session end where the headset must hear of its activation first (rule A7). */
  #start(transactionId: bigint): void {
    if (this.#activation.start(Number(transactionId))) {
      this.#session.send({ case: 'start', value: { transactionId } });
    } else this.#session.comeBackForWelcome();
  }
}
