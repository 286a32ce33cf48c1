import { create } from '@bufbuild/protobuf';
import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import {
  type ConnectRequest,
  ConnectResponseSchema,
  type CurrentActivation,
  GoAwayReason,
  type Hello,
  type Offer,
  type Report,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { DeliveryJudgeService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import { monotonicMs } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { limits } from '../domain/limits.ts';
import { checkReport, checkUrlRequest, transactionId } from '../domain/messages.ts';
import type { TokenClaims } from '../domain/token.ts';
import type { Registration } from '../ports.ts';
import type { Conversation, Outgoing } from './conversation.ts';
import type { ActivationReader } from './current-activation.ts';
import { Flow } from './flow.ts';
import type { Limiter } from './limiter.ts';
import type { LinkMetrics } from './metrics.ts';
import { OfferDesk, type OfferDeskDeps } from './offer-desk.ts';
import { ReportDesk } from './report-desk.ts';
import type { ReportRoom } from './report-room.ts';
import { retryWhile } from './retry.ts';
import { SessionJudge } from './session-judge.ts';
import { UrlDesk, type UrlServices } from './url-desk.ts';
import { cutOff, type Incoming, type LinkCall, UnreadableMessage } from './wire.ts';

/** What every session of an instance shares. */
export interface SessionDeps extends OfferDeskDeps {
  readonly judge: Client<typeof DeliveryJudgeService>;
  /** Bounds the judgements that run at a time, so that a restart is not a stampede. */
  readonly judgementLimiter: Limiter;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly metrics: LinkMetrics;
  readonly urls: UrlServices;
  readonly reportRoom: ReportRoom;
  readonly currentActivation: ActivationReader;
  readonly offerDeadlineMs: number;
  /** How long a session lasts at most; milliseconds. */
  readonly ageMs: number;
  /** Called once, when the session takes no part in anything any more. */
  readonly onEnded: (session: Session) => void;
}

/** Share of the greatest age at which the first sessions end, so that headsets do not come back at once. */
const leastShareOfAge = 0.8;
/** An aged session's headset comes back within this; milliseconds. */
const agedRetryMs = 1000;
/** The headset of a removed key stays away for this and up to five times as long; milliseconds. */
const keyRemovedRetryMs = 1000;

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

/**
 * One headset's session, from its welcome to its end. Owns the stream and keeps nothing durable. What is
 * said on it belongs to three desks: operations, reports, and addresses of files.
 */
export class Session implements Conversation {
  readonly deviceId: string;
  /** The key that its headset signed in with. */
  readonly keyId: string;
  readonly epoch: number;
  readonly flow: Flow;
  /** When it is to end, by the monotonic clock: from the first moment on as soon as it is quiet. */
  readonly #oldAtMs: number;
  readonly #tooOldAtMs: number;
  readonly #call: LinkCall;
  readonly #deps: SessionDeps;
  readonly #judge: SessionJudge;
  readonly #offers: OfferDesk;
  readonly #reports: ReportDesk;
  readonly #urls: UrlDesk;
  #unresponsive = false;
  #comingBack = false;
  #ended = false;
  /** When its stream is cut off if that is not over then, by the monotonic clock; set when the session ends. */
  #cutOffAtMs = Number.POSITIVE_INFINITY;

  constructor(call: LinkCall, { deviceId, keyId }: TokenClaims, epoch: number, deps: SessionDeps) {
    this.#call = call;
    this.deviceId = deviceId;
    this.keyId = keyId;
    this.epoch = epoch;
    this.#deps = deps;
    const nowMs = monotonicMs(deps.clock);
    this.#tooOldAtMs = nowMs + deps.ageMs;
    this.#oldAtMs = nowMs + deps.ageMs * (leastShareOfAge + Math.random() * (1 - leastShareOfAge));
    this.flow = new Flow(call, deps.clock);
    this.#judge = new SessionJudge(deps.judge, deps.judgementLimiter, this);
    this.#offers = new OfferDesk(this, this.#judge, deps);
    this.#reports = new ReportDesk(this, deps);
    this.#urls = new UrlDesk(deviceId, deps.urls, (error, inARow) =>
      this.complain('an address could not be found', error, inARow),
    );
  }

  readonly isAlive = (): boolean => !this.#ended;

  readonly send = (message: Outgoing): void => {
    if (this.#ended || this.#call.destroyed) return;
    this.#deps.metrics.sent(message.case);
    this.flow.write(create(ConnectResponseSchema, { body: message }));
  };

  readonly complain = (what: string, error: unknown, attempt: number): void => {
    if (attempt % 10 === 1) this.#deps.logger.warn({ deviceId: this.deviceId, attempt, err: error }, what);
  };

  readonly comeBackForWelcome = (): void => {
    if (!this.#comingBack) void this.#comeBackForWelcome();
  };

  get ended(): boolean {
    return this.#ended;
  }

  /** It was judged: offers go out. */
  get online(): boolean {
    return this.#offers.online && !this.#ended;
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

  /** When it was judged last, by the monotonic clock; milliseconds. */
  get judgedAtMs(): number {
    return this.#offers.judgedAtMs;
  }

  /** The next turn judges it again, however short a time ago it was judged. */
  judgementDue(): void {
    this.#offers.judgedAtMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Welcomes the headset, reports its hello to the platform, and begins to read. `sharedIdentity`: two headsets
   * probably use the identity of the device.
   */
  begin(
    hello: Hello,
    { ackedReportId, afterUnresponsive }: Registration,
    activation: CurrentActivation | undefined,
    sharedIdentity: boolean,
  ): void {
    this.#judge.introduce(hello);
    // One time for both: what the headset dates by the welcome is never before its hello.
    const nowMs = this.#deps.clock.now();
    this.flow.open(() => this.#drained());
    this.send({
      case: 'welcome',
      value: {
        sessionEpoch: BigInt(this.epoch),
        serverTimeMs: BigInt(nowMs),
        ackedReportId: BigInt(ackedReportId),
        ...(activation && { activation }),
      },
    });
    this.#reports.takeHello(hello, { activationEpoch: activation?.epoch, sharedIdentity }, nowMs);
    void this.#offers.open(hello, afterUnresponsive, activation?.epoch);
    // Not if the queue of reports is full already.
    this.flow.read();
  }

  /** A message after the hello. Answers what is wrong with it, if anything. */
  receive(message: Incoming): string | undefined {
    if (this.#ended) return undefined;
    if (message instanceof UnreadableMessage) return message.reason;
    const { body } = message as ConnectRequest;
    switch (body.case) {
      case 'ready': {
        const id = transactionId(body.value.transactionId);
        if (id === undefined) return 'ready: transaction_id out of range';
        this.#deps.metrics.received('ready');
        this.#offers.ready(id);
        return undefined;
      }
      case 'report': {
        const { reportId, body: said, activationEpoch } = body.value;
        const about = transactionOf(body.value);
        const problem = checkReport({ reportId, kind: said.case, transactionId: about, activationEpoch });
        if (problem) return problem.reason;
        this.#deps.metrics.received('report');
        this.#onReport(body.value, about);
        return undefined;
      }
      case 'urlRequest': {
        const problem = checkUrlRequest(body.value);
        if (problem) return problem.reason;
        this.#deps.metrics.received('urlRequest');
        this.#urls.ask(body.value, (value) => this.send({ case: 'urlAnswer', value }));
        return undefined;
      }
      case 'hello':
        return 'hello may be sent only once';
      default:
        return 'a message without a body that this server knows';
    }
  }

  /** Takes an offer (OfferDesk.deliver). Answers false when the session is over. Throws `unavailable`. */
  deliver(offer: Offer, previousId: number): boolean {
    if (this.#ended) return false;
    this.#offers.deliver(offer, previousId);
    return true;
  }

  /** Transactions were canceled: what this session has of them is dropped, also what is started. */
  withdraw(ids: readonly number[], reason: string): void {
    if (!this.#ended) this.#offers.withdraw(ids, reason);
  }

  /** Transactions have something for it that its judgement did not bring: it is judged again soon. */
  hasMore(): void {
    if (!this.#ended) this.#offers.hasMore();
  }

  /** Has it judged again (rule B5). Never throws. */
  judgeAgain(): Promise<void> {
    return this.#offers.judgeAgain();
  }

  /** Called about every second: closes a session that is past a deadline, cuts off an ended one's stream. */
  sweep(): void {
    const nowMs = monotonicMs(this.#deps.clock);
    if (this.#ended) {
      if (nowMs >= this.#cutOffAtMs) cutOff(this.#call);
      return;
    }
    if (nowMs >= this.#tooOldAtMs || (nowMs >= this.#oldAtMs && !this.busy)) {
      this.#deps.logger.debug({ deviceId: this.deviceId, epoch: this.epoch }, 'the session has its full age');
      this.close(GoAwayReason.DRAINING, Math.random() * agedRetryMs);
      return;
    }
    const overdueBefore = nowMs - this.#deps.offerDeadlineMs;
    const unanswered = this.#offers.oldestUnansweredMs;
    const silent =
      unanswered !== undefined && unanswered <= overdueBefore && this.flow.listeningSince(overdueBefore);
    if (silent || this.flow.blockedSince(overdueBefore)) {
      this.#deps.logger.warn({ deviceId: this.deviceId, epoch: this.epoch }, 'headset does not answer');
      this.close(GoAwayReason.UNRESPONSIVE, 1000 + Math.random() * 4000);
    }
  }

  /** Its headset's key was removed: nothing that it says counts any more. */
  keyRemoved(): void {
    if (this.#ended) return;
    const { deviceId, epoch, keyId } = this;
    this.#deps.logger.info({ deviceId, epoch, keyId }, 'the session ends, because its key was removed');
    this.close(GoAwayReason.KEY_REMOVED, keyRemovedRetryMs * (1 + Math.random() * 4));
  }

  /** Reads no more, so that what has come can be acknowledged before the session is drained. */
  quiesce(): void {
    this.flow.stall('drain', true);
  }

  /** Ends the session from the cloud's side, with a reason and a time to stay away. */
  close(reason: GoAwayReason, retryAfterMs: number): void {
    if (this.#ended) return;
    this.#unresponsive = reason === GoAwayReason.UNRESPONSIVE;
    this.send({ case: 'goAway', value: { reason, retryAfterMs: Math.round(retryAfterMs) } });
    this.#call.end();
    this.end();
  }

  /**
   * The stream is over, or about to be: nothing is sent or published any more. Whatever ended the session, its
   * stream is cut off after the grace time: a headset that takes nothing never takes the end of its stream.
   */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cutOffAtMs = monotonicMs(this.#deps.clock) + limits.closeGraceMs;
    this.#urls.close();
    this.flow.release();
    this.#deps.onEnded(this);
  }

  #onReport(report: Report, about: bigint | undefined): void {
    if (report.body.case === 'inventory') this.#judge.reportFirmware(report.body.value.firmwareVersion);
    this.#reports.take(report, this.#offers.traceOf(about));
  }

  /** Not before the activation can be read: without it the next welcome would be no better. */
  async #comeBackForWelcome(): Promise<void> {
    this.#comingBack = true;
    await retryWhile(
      this.isAlive,
      async () => {
        if (!(await this.#deps.currentActivation(this.deviceId))) throw new Error('devices cannot tell it');
      },
      (error, attempt) => this.complain('work waits for the activation to be told', error, attempt),
    );
    if (this.#ended) return;
    this.#deps.logger.info(
      { deviceId: this.deviceId, epoch: this.epoch },
      'the next welcome tells the activation',
    );
    this.close(GoAwayReason.ACTIVATION, Math.random() * limits.activationRetryMs);
  }

  #drained(): void {
    this.#reports.drained();
    this.#offers.flush();
  }
}
