import { create } from '@bufbuild/protobuf';
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
import type { Limiter } from '../calls/limiter.ts';
import { retryWhile } from '../calls/retry.ts';
import { limits } from '../domain/limits.ts';
import { checkReport, checkUrlRequest, transactionId } from '../domain/messages.ts';
import type { TokenClaims } from '../domain/token.ts';
import type { Registration } from '../ports.ts';
import { FlowControl } from '../transport/flow-control.ts';
import { type Incoming, type LinkCall, resetStream, UnreadableMessage } from '../transport/wire.ts';
import type { ActivationReader } from './current-activation.ts';
import { Offers, type OffersDeps } from './offers.ts';
import { transactionOf } from './report-event.ts';
import { Reports, type ReportsDeps } from './reports.ts';
import type { Outgoing, SessionContext } from './session-context.ts';
import { TransactionsClient } from './transactions-client.ts';
import { UrlRequests, type UrlServices } from './url-requests.ts';

/** Dependencies that all sessions of an instance share. */
export interface SessionDeps extends OffersDeps, ReportsDeps {
  readonly transactions: Client<typeof DeliveryJudgeService>;
  /** Limits concurrent reconciliations, so that a restart does not overload transactions. */
  readonly reconciliationLimiter: Limiter;
  readonly logger: Logger;
  readonly urls: UrlServices;
  readonly currentActivation: ActivationReader;
  readonly offerDeadlineMs: number;
  /** Maximum age of a session; milliseconds. */
  readonly ageMs: number;
  /** Called once, at the end of the session. */
  readonly onEnded: (session: Session) => void;
}

/**
 * Minimum share of the maximum age. Each session ends at a random age above this share, so that headsets do not
 * reconnect at the same time.
 */
const minAgeShare = 0.8;
/** Maximum reconnect delay after a session that has reached its maximum age; milliseconds. */
const agedRetryMs = 1000;
/** Minimum reconnect delay after the removal of a key; the maximum is five times as long; milliseconds. */
const keyRemovedRetryMs = 1000;

/**
 * One headset's session, from its welcome to its end. Owns the stream and stores nothing durably. Messages are
 * handled by three parts: offers, reports and URL requests.
 */
export class Session implements SessionContext {
  readonly deviceId: string;
  /** The key of the headset's token. */
  readonly keyId: string;
  readonly epoch: number;
  readonly flow: FlowControl;
  /** From this time on the session ends as soon as no report is being published; by the monotonic clock. */
  readonly #endIfIdleAtMs: number;
  /** At this time the session ends in any case; by the monotonic clock. */
  readonly #endAtMs: number;
  readonly #call: LinkCall;
  readonly #deps: SessionDeps;
  readonly #transactions: TransactionsClient;
  readonly #offers: Offers;
  readonly #reports: Reports;
  readonly #urlRequests: UrlRequests;
  #unresponsive = false;
  #reconnecting = false;
  #ended = false;
  /** When the stream of the ended session is reset, by the monotonic clock. */
  #resetAtMs = Number.POSITIVE_INFINITY;

  constructor(call: LinkCall, { deviceId, keyId }: TokenClaims, epoch: number, deps: SessionDeps) {
    this.#call = call;
    this.deviceId = deviceId;
    this.keyId = keyId;
    this.epoch = epoch;
    this.#deps = deps;
    const nowMs = monotonicMs(deps.clock);
    this.#endAtMs = nowMs + deps.ageMs;
    this.#endIfIdleAtMs = nowMs + deps.ageMs * (minAgeShare + Math.random() * (1 - minAgeShare));
    this.flow = new FlowControl(call, deps.clock);
    this.#transactions = new TransactionsClient(deps.transactions, deps.reconciliationLimiter, this);
    this.#offers = new Offers(this, this.#transactions, deps);
    this.#reports = new Reports(this, deps);
    this.#urlRequests = new UrlRequests(this, deps.urls);
  }

  readonly isAlive = (): boolean => !this.#ended;

  readonly send = (message: Outgoing): void => {
    if (this.#ended || this.#call.destroyed) return;
    this.#deps.metrics.sent(message.case);
    this.flow.write(create(ConnectResponseSchema, { body: message }));
  };

  readonly logFailure = (what: string, error: unknown, attempt: number): void => {
    if (attempt % 10 === 1) this.#deps.logger.warn({ deviceId: this.deviceId, attempt, err: error }, what);
  };

  readonly reconnectForWelcome = (): void => {
    if (!this.#reconnecting) void this.#reconnectForWelcome();
  };

  get ended(): boolean {
    return this.#ended;
  }

  /** True from the first reconciliation to the end: offers are sent. */
  get online(): boolean {
    return this.#offers.online && !this.#ended;
  }

  /** The session was closed because the headset did not answer. */
  get unresponsive(): boolean {
    return this.#unresponsive;
  }

  /** True while reports are being published. */
  get busy(): boolean {
    return this.#reports.busy;
  }

  /** Highest report id of this session that the log has stored; 0 if none. */
  get ackedReportId(): number {
    return this.#reports.ackedReportId;
  }

  /** Time of the last reconciliation, by the monotonic clock; milliseconds. */
  get reconciledAtMs(): number {
    return this.#offers.reconciledAtMs;
  }

  /** Makes the next run of the reconciler reconcile this session. */
  makeReconciliationDue(): void {
    this.#offers.reconciledAtMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Sends the welcome, publishes the hello, and begins to read. `sharedIdentity`: two headsets probably use the
   * identity of the device.
   */
  begin(
    hello: Hello,
    { ackedReportId, afterUnresponsive }: Registration,
    activation: CurrentActivation | undefined,
    sharedIdentity: boolean,
  ): void {
    this.#transactions.setHello(hello);
    // The welcome and the hello event have the same time: a headset that sets its clock by the welcome never reports a
    // time before its hello.
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
    // The stream stays paused if the queue of reports is full.
    this.flow.read();
  }

  /** Handles a message after the hello. Returns the problem if the message violates the protocol. */
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
        const { reportId, body: content, activationEpoch } = body.value;
        const about = transactionOf(body.value);
        const problem = checkReport({ reportId, kind: content.case, transactionId: about, activationEpoch });
        if (problem) return problem.reason;
        this.#deps.metrics.received('report');
        this.#onReport(body.value, about);
        return undefined;
      }
      case 'urlRequest': {
        const problem = checkUrlRequest(body.value);
        if (problem) return problem.reason;
        this.#deps.metrics.received('urlRequest');
        this.#urlRequests.take(body.value);
        return undefined;
      }
      case 'hello':
        return 'hello may be sent only once';
      default:
        return 'a message without a body that this server knows';
    }
  }

  /** Accepts an offer (Offers.deliver). Returns false after the end of the session. Throws `unavailable`. */
  deliver(offer: Offer, previousId: number): boolean {
    if (this.#ended) return false;
    this.#offers.deliver(offer, previousId);
    return true;
  }

  /** Drops canceled transactions, including started ones. */
  withdraw(ids: readonly number[], reason: string): void {
    if (!this.#ended) this.#offers.withdraw(ids, reason);
  }

  /** Reconciles again, because transactions has offers that the last reconciliation did not return. */
  hasMore(): void {
    if (!this.#ended) this.#offers.hasMore();
  }

  /** Reconciles the session again (rule B5). Never throws. */
  reconcile(): Promise<void> {
    return this.#offers.reconcile();
  }

  /** Called about every second: closes the session after a deadline, and resets the stream of an ended session. */
  sweep(): void {
    const nowMs = monotonicMs(this.#deps.clock);
    if (this.#ended) {
      if (nowMs >= this.#resetAtMs) resetStream(this.#call);
      return;
    }
    if (nowMs >= this.#endAtMs || (nowMs >= this.#endIfIdleAtMs && !this.busy)) {
      this.#deps.logger.debug(
        { deviceId: this.deviceId, epoch: this.epoch },
        'closing session: maximum age reached',
      );
      this.close(GoAwayReason.DRAINING, Math.random() * agedRetryMs);
      return;
    }
    const overdueAtMs = nowMs - this.#deps.offerDeadlineMs;
    const unansweredMs = this.#offers.oldestUnansweredMs;
    const doesNotAnswer =
      unansweredMs !== undefined && unansweredMs <= overdueAtMs && this.flow.listeningSince(overdueAtMs);
    if (doesNotAnswer || this.flow.blockedSince(overdueAtMs)) {
      this.#deps.logger.warn({ deviceId: this.deviceId, epoch: this.epoch }, 'headset does not answer');
      this.close(GoAwayReason.UNRESPONSIVE, 1000 + Math.random() * 4000);
    }
  }

  /** Closes the session because the headset's key was removed. */
  keyRemoved(): void {
    if (this.#ended) return;
    const { deviceId, epoch, keyId } = this;
    this.#deps.logger.info({ deviceId, epoch, keyId }, 'the session ends, because its key was removed');
    this.close(GoAwayReason.KEY_REMOVED, keyRemovedRetryMs * (1 + Math.random() * 4));
  }

  /** Stops reading, so that reports that have arrived can be acknowledged before the session is closed. */
  quiesce(): void {
    this.flow.stall('drain', true);
  }

  /** Ends the session with a `goAway`: a reason and a reconnect delay. */
  close(reason: GoAwayReason, retryAfterMs: number): void {
    if (this.#ended) return;
    this.#unresponsive = reason === GoAwayReason.UNRESPONSIVE;
    this.send({ case: 'goAway', value: { reason, retryAfterMs: Math.round(retryAfterMs) } });
    this.#call.end();
    this.end();
  }

  /**
   * Ends the session: no message is sent and no report is published after this. The stream is reset after a grace time,
   * because a headset that does not read messages does not read the end of the stream either.
   */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#resetAtMs = monotonicMs(this.#deps.clock) + limits.closeGraceMs;
    this.#urlRequests.close();
    this.flow.release();
    this.#deps.onEnded(this);
  }

  #onReport(report: Report, about: bigint | undefined): void {
    const { body } = report;
    if (body.case === 'inventory') this.#transactions.reportFirmware(body.value.firmwareVersion);
    this.#reports.take(report, this.#offers.traceOf(about));
  }

  /** Ends the session after the activation could be read, so that the next welcome will probably contain it. */
  async #reconnectForWelcome(): Promise<void> {
    this.#reconnecting = true;
    await retryWhile(
      this.isAlive,
      async () => {
        if (!(await this.#deps.currentActivation(this.deviceId))) throw new Error('devices is unavailable');
      },
      (error, attempt) => this.logFailure('the activation could not be read, work waits', error, attempt),
    );
    if (this.#ended) return;
    this.#deps.logger.info(
      { deviceId: this.deviceId, epoch: this.epoch },
      'closing session: the next welcome carries the new activation',
    );
    this.close(GoAwayReason.ACTIVATION, Math.random() * limits.activationRetryMs);
  }

  #drained(): void {
    this.#reports.drained();
    this.#offers.flush();
  }
}
