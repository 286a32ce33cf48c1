import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { EventLog, OutgoingEvent } from '@headset-cloud/kit/eventlog/types.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import { inSpan } from '@headset-cloud/kit/telemetry.ts';
import {
  type ConnectRequest,
  ConnectResponseSchema,
  type CurrentActivation,
  GoAwayReason,
  type Hello,
  type Offer,
  type Report,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type {
  AcceptResponse,
  DeliveryJudgeService,
  HeadsetOnlineResponse,
} from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { limits } from '../domain/limits.ts';
import { checkReport, checkUrlRequest, newerFirmware, transactionId } from '../domain/messages.ts';
import { OfferBook, type Release, type Verdict } from '../domain/offer-book.ts';
import { Turn } from '../domain/turn.ts';
import type { Registration } from '../ports.ts';
import { Flow } from './flow.ts';
import type { LinkMetrics, OutgoingKind } from './metrics.ts';
import { type ReportEvent, reportEvent } from './report-event.ts';
import { ReportPump } from './report-pump.ts';
import { backoffMs, pause, retryWhile } from './retry.ts';
import { StartPermits } from './start-permits.ts';
import { Traces } from './traces.ts';
import { UrlDesk, type UrlServices } from './url-desk.ts';
import { cutOff, type Incoming, type LinkCall, UnreadableMessage } from './wire.ts';

/** What every session of an instance shares. */
export interface SessionDeps {
  readonly judge: Client<typeof DeliveryJudgeService>;
  /** Bounds the online sweeps that run at a time, so that a restart is not a stampede. */
  readonly onlineGate: <T>(work: () => Promise<T>) => Promise<T>;
  readonly log: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: LinkMetrics;
  readonly failpoints: Failpoints;
  readonly urls: UrlServices;
  readonly offerDeadlineMs: number;
  /** Called once, when the session takes no part in anything any more. */
  readonly onEnded: (session: Session) => void;
  /** How soon a judgement that failed when repeated is tried again; milliseconds. */
  readonly rejudgeEveryMs: number;
}

/** How long a repeated judgement that failed waits; milliseconds. */
const rejudgeAfterFailureMs = 30_000;

type Body = NonNullable<MessageInitShape<typeof ConnectResponseSchema>['body']>;

/** The transaction that a report is about, where its kind belongs to one. */
function transactionOf({ body }: Report): bigint | undefined {
  switch (body.case) {
    case 'result':
    case 'revoked':
    case 'appAnswer':
    case 'progress':
      return body.value.transactionId;
    case 'bluetoothConnection':
      // 0: none caused it.
      return body.value.transactionId || undefined;
    default:
      return undefined;
  }
}

/** One headset's session, from its welcome to its end. Owns the stream; keeps nothing durable. */
export class Session {
  readonly deviceId: string;
  readonly epoch: number;
  readonly #call: LinkCall;
  readonly #deps: SessionDeps;
  readonly #book = new OfferBook<Offer>();
  readonly #turn = new Turn<Offer>();
  readonly #reports: ReportPump;
  readonly #traces = new Traces();
  readonly #urls: UrlDesk;
  readonly #flow: Flow;
  readonly #permits: StartPermits;
  #clientVersion = '';
  #knowsRevoke = false;
  #firmwareVersion = '';
  #online = false;
  /** When it was judged last, by the monotonic clock; milliseconds. */
  judgedAtMs = 0;
  #unresponsive = false;
  #ended = false;
  #judgingAgain = false;
  #reading = false;
  /** What is to be acknowledged when the headset takes messages again; 0: nothing. */
  #ackDue = 0;
  #cutOffAtMs = 0;

  constructor(call: LinkCall, deviceId: string, epoch: number, deps: SessionDeps) {
    this.#call = call;
    this.deviceId = deviceId;
    this.epoch = epoch;
    this.#deps = deps;
    this.#flow = new Flow(call, deps.clock);
    this.#reports = new ReportPump({
      publish: (events) => this.#publish(events),
      acknowledge: (id) => this.#acknowledge(id),
      setFull: (full) => this.#flow.stall('log', full),
      alive: () => !this.#ended,
      failed: (error, attempt) => this.#complain('reports could not be published', error, attempt),
    });
    this.#permits = new StartPermits({
      ask: (id) => this.#accept(id),
      answered: (id, answer) => this.#permitted(id, answer),
      setFull: (full) => this.#flow.stall('permits', full),
      setWaitingFull: (full) => this.#flow.stall('readies', full),
      alive: () => !this.#ended,
      failed: (error, attempt) => this.#complain('a start could not be asked for', error, attempt),
    });
    this.#urls = new UrlDesk(deviceId, deps.urls, (error, inARow) =>
      this.#complain('an address could not be found', error, inARow),
    );
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** It was judged: offers go out. */
  get online(): boolean {
    return this.#online && !this.#ended;
  }

  /** It was closed because the headset did not answer. */
  get unresponsive(): boolean {
    return this.#unresponsive;
  }

  /** True while reports are on their way to the log. */
  get busy(): boolean {
    return this.#reports.busy;
  }

  /** Highest report id of this session that is durable; 0 if none. */
  get ackedReportId(): number {
    return this.#reports.ackedReportId;
  }

  /** Welcomes the headset, tells the platform, and begins to read. */
  begin(
    hello: Hello,
    { ackedReportId, afterUnresponsive }: Registration,
    activation: CurrentActivation | undefined,
  ): void {
    const now = this.#deps.clock.now();
    this.#clientVersion = hello.clientVersion;
    this.#knowsRevoke = hello.knowsRevoke;
    this.#firmwareVersion = hello.firmwareVersion;
    this.#flow.open(() => this.#drained());
    this.#send('welcome', {
      case: 'welcome',
      value: {
        sessionEpoch: BigInt(this.epoch),
        serverTimeMs: BigInt(now),
        ackedReportId: BigInt(ackedReportId),
        ...(activation && { activation }),
      },
    });
    this.#reports.push(reportEvent(this, now, { case: 'hello', value: hello }, '', activation?.epoch), 0);
    void this.#goOnline(hello, afterUnresponsive);
    this.#call.resume();
  }

  /** A message after the hello. Answers what is wrong with it, if anything. */
  receive(message: Incoming): string | undefined {
    if (message instanceof UnreadableMessage) return message.reason;
    const { body } = message as ConnectRequest;
    switch (body.case) {
      case 'ready': {
        const id = transactionId(body.value.transactionId);
        if (id === undefined) return 'ready: transaction_id out of range';
        this.#deps.metrics.received('ready');
        this.#onReady(id);
        return undefined;
      }
      case 'report': {
        const { reportId, body: said, activationEpoch } = body.value;
        const about = transactionOf(body.value);
        const problem = checkReport({ reportId, kind: said.case, transactionId: about, activationEpoch });
        if (problem) return problem.reason;
        this.#deps.metrics.received('report');
        this.#onReport(body.value);
        return undefined;
      }
      case 'urlRequest': {
        const problem = checkUrlRequest(body.value);
        if (problem) return problem.reason;
        this.#deps.metrics.received('urlRequest');
        this.#urls.ask(body.value, (value) => this.#send('urlAnswer', { case: 'urlAnswer', value }));
        return undefined;
      }
      case 'hello':
        return 'hello may be sent only once';
      default:
        return 'a message without a body that this server knows';
    }
  }

  /**
   * Takes an offer to be sent: at once, or behind a judgement, where the operation before it is not known
   * here. Answers false when the session is over. Throws `unavailable` when too many wait already: then
   * nothing is taken until those are offered, and what was refused comes with a judgement.
   */
  deliver(offer: Offer, previousId: number): boolean {
    if (this.#ended) return false;
    const id = Number(offer.transactionId);
    if (this.#book.knows(id)) return true;
    const isFull = this.#book.pendingCount + this.#turn.waitingCount >= limits.maxPendingOffers;
    const taken = this.#turn.take({ id, previousId, offer }, isFull, (other) => this.#book.knows(other));
    if (taken === 'now') {
      this.#book.add(id, offer);
      this.#flushOffers();
      return true;
    }
    this.#catchUp();
    if (taken === 'waits') return true;
    throw new DomainError('unavailable', 'Too many transactions wait for this headset.', {
      retryAfterMs: 1000,
    });
  }

  /** Transactions were canceled: what this session has of them is dropped, also what is started. */
  withdraw(ids: readonly number[], reason: string): void {
    if (this.#ended) return;
    this.#turn.forget(new Set(ids));
    this.#sendReleased(this.#book.withdraw(ids, reason));
  }

  /** Called about every second: closes a session that is past a deadline, cuts off one that does not end. */
  sweep(nowMs: number): void {
    if (this.#cutOffAtMs > 0) {
      if (nowMs >= this.#cutOffAtMs) cutOff(this.#call);
      return;
    }
    const overdueBefore = nowMs - this.#deps.offerDeadlineMs;
    const unanswered = this.#book.oldestUnansweredMs();
    const blocked = this.#flow.blockedSince(overdueBefore);
    if (blocked || (unanswered !== undefined && unanswered <= overdueBefore)) {
      this.#deps.logger.warn({ deviceId: this.deviceId, epoch: this.epoch }, 'headset does not answer');
      this.close(GoAwayReason.UNRESPONSIVE, 1000 + Math.random() * 4000);
    }
  }

  /** Reads no more, so that what has come can be acknowledged before the session is drained. */
  quiesce(): void {
    this.#flow.stall('drain', true);
  }

  /** Ends the session from the cloud's side, with a reason and a time to stay away. */
  close(reason: GoAwayReason, retryAfterMs: number): void {
    if (this.#ended) return;
    this.#unresponsive = reason === GoAwayReason.UNRESPONSIVE;
    this.#send('goAway', { case: 'goAway', value: { reason, retryAfterMs: Math.round(retryAfterMs) } });
    this.#call.end();
    this.#cutOffAtMs = this.#deps.clock.now() + limits.closeGraceMs;
    this.end();
  }

  /** The stream is over, or about to be: nothing is sent or published any more. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#urls.close();
    this.#flow.release();
    this.#deps.onEnded(this);
  }

  /**
   * Has it judged again (rule B5): what waits for the headset and was not written to this session is
   * offered now. A failure is tried again a little later.
   */
  async judgeAgain(): Promise<void> {
    if (this.#judgingAgain) return;
    this.#judgingAgain = true;
    for (let attempt = 1; ; attempt += 1) {
      const now = this.#monotonic();
      this.judgedAtMs = now;
      try {
        await this.#judgeOnceMore();
        attempt = 0;
      } catch (error) {
        this.#turn.failed();
        this.#complain('a session could not be judged again', error, attempt);
        this.judgedAtMs = now - this.#deps.rejudgeEveryMs + rejudgeAfterFailureMs;
        if (this.#missesSome) await pause(backoffMs(attempt));
      }
      if (!this.#missesSome) break;
    }
    this.#judgingAgain = false;
  }

  async #judgeOnceMore(): Promise<void> {
    const answer = await this.#deps.onlineGate(async () => {
      if (this.#ended) return undefined;
      this.#turn.begin();
      return await this.#deps.judge.headsetOnline({
        deviceId: this.deviceId,
        sessionEpoch: BigInt(this.epoch),
        clientVersion: this.#clientVersion,
        knowsRevoke: this.#knowsRevoke,
        again: true,
        readsOffers: true,
      });
    });
    if (!answer || this.#ended) return;
    this.withdraw(answer.dropTransactionIds.map(Number), 'The transaction is over.');
    this.#addJudged(answer);
  }

  /** Something is to be offered that only the judge knows, and there is room for it. */
  get #missesSome(): boolean {
    if (this.#ended) return false;
    const hasRoom = this.#book.pendingCount <= limits.maxPendingOffers / 2;
    return this.#turn.waitingCount > 0 || (this.#turn.behind && hasRoom);
  }

  #catchUp(): void {
    if (this.#online && this.#missesSome) void this.judgeAgain();
  }

  #monotonic(): number {
    const { clock } = this.#deps;
    return clock.monotonicNow?.() ?? clock.now();
  }

  async #goOnline(hello: Hello, afterUnresponsive: boolean): Promise<void> {
    const answer = await retryWhile(
      () => !this.#ended,
      () =>
        this.#deps.onlineGate(async () => {
          // The session may have ended while it stood in the queue.
          if (this.#ended) return undefined;
          this.#turn.begin();
          return await this.#deps.judge.headsetOnline({
            deviceId: this.deviceId,
            sessionEpoch: BigInt(this.epoch),
            held: hello.held,
            clientVersion: hello.clientVersion,
            knowsRevoke: hello.knowsRevoke,
            afterUnresponsive,
            readsOffers: true,
          });
        }),
      (error, attempt) => this.#complain('the online sweep failed', error, attempt),
    );
    if (!answer || this.#ended) return;
    for (const id of answer.dropTransactionIds) {
      this.#send('drop', { case: 'drop', value: { transactionId: id, reason: 'The transaction is over.' } });
    }
    for (const id of answer.startTransactionIds) {
      this.#book.started(Number(id));
      this.#send('start', { case: 'start', value: { transactionId: id } });
    }
    for (const { transactionId, reason } of answer.revocations) {
      this.#send('revoke', { case: 'revoke', value: { transactionId, reason } });
    }
    this.judgedAtMs = this.#monotonic();
    this.#online = true;
    this.#addJudged(answer);
    for (const id of this.#permits.takeKept()) this.#onReady(id);
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
    this.#flushOffers();
  }

  #flushOffers(): void {
    if (!this.#online) return;
    this.#sendOffers();
    this.#catchUp();
  }

  #sendOffers(): void {
    while (!this.#ended && !this.#flow.blocked) {
      const offer = this.#book.next(this.#deps.clock.now());
      if (!offer) {
        this.#readLacking();
        return;
      }
      this.#traces.remember(Number(offer.transactionId), offer.traceparent);
      this.#send('offer', { case: 'offer', value: offer });
      this.#deps.failpoints('device-link.offered');
    }
  }

  /** The judge left out the operations of the next offers: reads them, and goes on (rule B5). */
  #readLacking(): void {
    const ids = this.#book.lacking(limits.maxOffersRead);
    if (ids.length > 0 && !this.#reading) void this.#readOffers(ids);
  }

  async #readOffers(ids: readonly number[]): Promise<void> {
    this.#reading = true;
    const answer = await retryWhile(
      () => !this.#ended,
      () =>
        this.#deps.onlineGate(() =>
          this.#deps.judge.readOffers({ deviceId: this.deviceId, transactionIds: ids.map(BigInt) }),
        ),
      (error, attempt) => this.#complain('offers could not be read', error, attempt),
    );
    this.#reading = false;
    if (!answer || this.#ended) return;
    const offers = new Map(answer.offers.map((offer) => [Number(offer.transactionId), offer]));
    this.#book.read(ids.slice(0, answer.answered), offers);
    this.#flushOffers();
  }

  #onReady(id: number): void {
    if (!this.#online) this.#permits.keep(id);
    else if (this.#book.ready(id, this.#deps.clock.now()) === 'ask') void this.#permits.ask(id);
  }

  #permitted(id: number, answer: AcceptResponse): void {
    this.#deps.failpoints('device-link.accepted');
    this.#sendReleased(this.#book.decide(id, this.#verdict(answer), answer.dropReason));
    this.#flushOffers();
  }

  #accept(id: number) {
    const ask = () =>
      this.#deps.judge.accept({
        deviceId: this.deviceId,
        transactionId: BigInt(id),
        sessionEpoch: BigInt(this.epoch),
        clientVersion: this.#clientVersion,
        firmwareVersion: this.#firmwareVersion,
      });
    const parent = this.#traces.of(id);
    return parent ? inSpan('headset ready', { parent }, ask) : ask();
  }

  /** A client that does not know revoke is not asked: what it has started goes on (rule A11). */
  #verdict({ start, revoke }: AcceptResponse): Verdict {
    if (revoke) return this.#knowsRevoke ? 'revoke' : 'start';
    return start ? 'start' : 'drop';
  }

  #sendReleased(released: readonly Release[]): void {
    for (const { id, verdict, reason } of released) {
      const transactionId = BigInt(id);
      if (verdict === 'start') this.#send('start', { case: 'start', value: { transactionId } });
      else this.#send(verdict, { case: verdict, value: { transactionId, reason } });
    }
    if (released.length > 0) this.#flushOffers();
  }

  #onReport(report: Report): void {
    const id = Number(report.reportId);
    if (report.body.case === 'inventory') {
      this.#firmwareVersion = newerFirmware(this.#firmwareVersion, report.body.value.firmwareVersion);
    }
    if (this.#reports.isNew(id)) {
      const about = transactionOf(report);
      const said = { case: 'report', value: report } as const;
      this.#reports.push(reportEvent(this, this.#deps.clock.now(), said, this.#traces.of(about)), id);
    } else if (id <= this.#reports.ackedReportId) {
      this.#acknowledge(this.#reports.ackedReportId);
    }
    // Otherwise it is on its way to the log, and is acknowledged with what stands before it.
  }

  async #publish(reports: readonly ReportEvent[]): Promise<void> {
    const begun = performance.now();
    const byTopic = new Map<string, OutgoingEvent[]>();
    for (const { topics, event } of reports) {
      for (const topic of topics) {
        const events = byTopic.get(topic);
        if (events) events.push(event);
        else byTopic.set(topic, [event]);
      }
    }
    await Promise.all([...byTopic].map(([topic, events]) => this.#deps.log.publish(topic, events)));
    this.#deps.metrics.published((performance.now() - begun) / 1000);
    this.#deps.failpoints('device-link.published');
  }

  #acknowledge(reportId: number): void {
    if (this.#ended) return;
    if (this.#flow.blocked) {
      this.#ackDue = reportId;
      return;
    }
    this.#send('reportAck', { case: 'reportAck', value: { reportId: BigInt(reportId) } });
    this.#deps.failpoints('device-link.acked');
  }

  #send(kind: OutgoingKind, body: Body): void {
    if (this.#ended || this.#call.destroyed) return;
    this.#deps.metrics.sent(kind);
    this.#flow.write(create(ConnectResponseSchema, { body }));
  }

  #drained(): void {
    if (this.#ackDue > 0) {
      const due = this.#ackDue;
      this.#ackDue = 0;
      this.#acknowledge(due);
    }
    this.#flushOffers();
  }

  /** The first failure and every tenth is logged: a service that is away fails for all sessions. */
  #complain(what: string, error: unknown, attempt: number): void {
    if (attempt % 10 === 1) this.#deps.logger.warn({ deviceId: this.deviceId, attempt, err: error }, what);
  }
}
