import { EventEmitter } from 'node:events';
import { statSync } from 'node:fs';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type ChannelOptions, type ServiceError, status } from '@grpc/grpc-js';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  type GoAway,
  GoAwayReason,
  type Offer,
  type Report,
} from '@headset-cloud/proto/headset/device_link/v1/device_link_pb.ts';
import { answer, type Behaviour, type DeathPoint, normalBehaviour } from './behaviour.ts';
import { Device, type DeviceContent } from './device.ts';
import { Effects } from './effects.ts';
import { hello, type SelfDescription } from './hello.ts';
import { type HeadsetIdentity, mintToken } from './identity.ts';
import { Installer } from './installer.ts';
import { type Held, Journal, type Outcome } from './journal.ts';
import { Line, type LineCall } from './line.ts';
import type { Durability } from './memory.ts';
import { Outbox, type ReportBody, type ReportDetails } from './outbox.ts';
import { connectionNotice, inventory, inventoryChanged, resultReport, resultReports } from './results.ts';
import { Uploads } from './uploads.ts';
import { UrlRequests } from './urls.ts';
import { refusal, work } from './work.ts';

/** What of the content may be given by itself; a given `content` wins. */
type Installed = Partial<Pick<DeviceContent, 'firmwareVersion' | 'apps' | 'languages'>>;

export interface HeadsetOptions extends SelfDescription, Installed {
  /** What is on the headset at first, and after a reset; what is missing is as in factoryContent. */
  readonly content?: Partial<DeviceContent>;
  readonly identity: HeadsetIdentity;
  /** host:port of device-link. */
  readonly server: string;
  /** Folder of the journal and the effects; not needed with durability `none`. */
  readonly stateDir?: string;
  /** Default: `process` with a stateDir, else `none`. */
  readonly durability?: Durability;
  readonly audience?: string;
  readonly behaviour?: Partial<Behaviour>;
  /** Bounds of the wait between two tries to connect; milliseconds. Default 500 to 60 000. */
  readonly backoff?: { readonly firstMs: number; readonly longestMs: number };
  /** Called at each named point; a simulator's process may kill itself there. */
  readonly atPoint?: (point: DeathPoint, transactionId: number) => void;
  readonly channelOptions?: ChannelOptions;
}

/** What tests can wait for. */
export interface HeadsetEvents {
  /** A session has begun; its epoch. */
  online: [epoch: number];
  /** Every message from the cloud, before it is handled. */
  received: [message: ConnectResponse];
  /** An effect took place; of which operationId. */
  effect: [transactionId: number, operation: string];
  /** Reports up to this id are acknowledged. */
  acknowledged: [reportId: number];
  /** The stream ended. */
  offline: [code: status, details: string];
}

/**
 * One headset, behaving as the protocol page says. `behaviour` may be changed at any time.
 */
export class Headset extends EventEmitter<HeadsetEvents> {
  readonly deviceId: string;
  readonly behaviour: Behaviour;
  readonly journal: Journal;
  readonly effects: Effects;
  /** What is on it and around it. */
  readonly device: Device;
  /** The running session's epoch; 0 while there is none. */
  sessionEpoch = 0;
  readonly #options: HeadsetOptions;
  readonly #line: Line;
  readonly #outbox: Outbox;
  readonly #urls: UrlRequests;
  readonly #uploads: Uploads;
  readonly #installer: Installer;
  readonly #closed = new AbortController();
  #call: LineCall | undefined;
  #wanted = false;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #clockCorrectionMs = 0;
  #notBefore = 0;
  #working: Promise<void> = Promise.resolve();
  readonly #inHand = new Set<number>();

  constructor(options: HeadsetOptions) {
    super();
    this.#options = options;
    this.deviceId = options.identity.deviceId;
    this.behaviour = { ...normalBehaviour, ...options.behaviour };
    const durability = options.durability ?? (options.stateDir === undefined ? 'none' : 'process');
    this.journal = new Journal(options.stateDir ?? '.', this.deviceId, durability);
    this.effects = new Effects(options.stateDir ?? '.', this.deviceId, durability);
    this.device = new Device(options.stateDir ?? '.', this.deviceId, durability, initialContent(options));
    this.#outbox = new Outbox(
      this.journal,
      () => this.now() + this.#clockCorrectionMs,
      (report) => this.#sendReport(report),
    );
    this.#line = new Line(options.server, options.channelOptions);
    const signal = this.#closed.signal;
    this.#urls = new UrlRequests((value) => this.#send({ case: 'urlRequest', value }));
    this.#installer = new Installer({
      ...{ deviceId: this.deviceId, behaviour: this.behaviour, urls: this.#urls, signal },
      directory: durability === 'none' ? undefined : options.stateDir,
      nowMs: () => this.now() + this.#clockCorrectionMs,
      report: (body) => this.report(body),
      atLoading: (id) => this.#point('loading', id),
    });
    this.#uploads = new Uploads(
      { journal: this.journal, outbox: this.#outbox, urls: this.#urls, signal },
      (upload) => this.#point('uploaded', upload.id),
    );
    // A death between the effect and its result: the effect is there, so the result is known. Work
    // whose effect did not take place waits for a new start: it may have been canceled meanwhile.
    for (const [id, held] of this.journal.held) {
      const done = this.effects.has(id) || this.device.outcomeOf(id) !== undefined;
      if (held.state === 'started' && done) this.#finish(id, held);
    }
  }

  /** The headset's own clock, wrong by as much as its behaviour says; milliseconds since 1970. */
  now(): number {
    return Date.now() + this.behaviour.skewMs;
  }

  /** Connects, and keeps connected until `close` or `stayAway`. */
  connect(): void {
    this.#wanted = true;
    this.#schedule(0);
  }

  /** Drops the connection without a word; the headset connects again by itself. */
  disconnect(): void {
    this.#call?.cancel();
  }

  /** Drops the connection and comes back after `ms`. */
  stayAway(ms: number): void {
    this.#notBefore = Date.now() + ms;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#call) this.#call.cancel();
    else if (this.#wanted) this.#schedule(ms);
  }

  /** Ends the stream in good order and gives everything back. The files stay. */
  async close(): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#timer);
    const call = this.#call;
    if (call) {
      await new Promise<void>((resolve) => {
        const late = setTimeout(() => call.cancel(), 500);
        this.once('offline', () => {
          clearTimeout(late);
          resolve();
        });
        call.end();
      });
    }
    this.#closed.abort();
    await Promise.all([this.#installer.close(), this.#uploads.close()]);
    this.#line.close();
    this.journal.close();
    this.effects.close();
    this.device.close();
  }

  /**
   * Reports something of the headset's own, of now unless `details` say else; kept until it is
   * acknowledged. Answers the report's id.
   */
  report(body: ReportBody, details?: ReportDetails): number {
    return this.#outbox.add(body, details);
  }

  /**
   * Uploads a local file, or so many generated bytes; kept until its end is reported. In `file`,
   * `{applicationId}` and `{deviceId}` stand for the headset's own. Answers the upload's number.
   * Throws when there is no such local file.
   */
  upload(upload: { file: string; path: string } | { file: string; sizeBytes: number }): number {
    const file = upload.file
      .replace('{applicationId}', this.device.state.applicationId)
      .replace('{deviceId}', this.deviceId);
    const sizeBytes = 'path' in upload ? statSync(upload.path).size : upload.sizeBytes;
    return this.#uploads.add({ ...upload, file, sizeBytes });
  }

  /** Changes what is on the headset or around it, as its wearer or the world would. */
  happen(content: Partial<DeviceContent>): void {
    const before = this.device.state;
    this.device.happen(content);
    if (inventoryChanged(before, this.device.state)) this.report(inventory(this.device.state));
    const notice = connectionNotice(before, this.device.state, 0);
    if (notice && this.behaviour.connectionNotices) this.report(notice);
  }

  /** Sends any message as it is, also one that breaks the protocol. */
  sendRaw(body: MessageInitShape<typeof ConnectRequestSchema>['body']): void {
    if (body) this.#send(body);
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    const waitMs = Math.max(ms, this.#notBefore - Date.now(), 0);
    this.#timer = setTimeout(() => this.#open(), waitMs);
  }

  #open(): void {
    if (!this.#wanted || this.#call) return;
    const audience = this.#options.audience ?? 'headset-cloud/device-link';
    const token = mintToken(this.#options.identity, audience, this.now() + this.#clockCorrectionMs);
    const call = this.#line.connect(token);
    this.#call = call;
    call.on('data', (message: ConnectResponse) => this.#receive(message));
    call.on('error', (error: ServiceError) => this.#ended(call, error));
    call.on('status', (s: ServiceError) => this.#ended(call, s));
    this.#send({ case: 'hello', value: hello(this.#options, this.device.state, this.journal, this.now()) });
  }

  #ended(call: LineCall, end: Pick<ServiceError, 'code' | 'details' | 'metadata'>): void {
    if (this.#call !== call) return;
    this.#call = undefined;
    this.sessionEpoch = 0;
    this.#outbox.close();
    this.#urls.close();
    const serverTime = Number(end.metadata?.get('x-server-time-ms')[0] ?? 0);
    if (end.code === status.UNAUTHENTICATED && serverTime > 0) {
      this.#clockCorrectionMs = serverTime - this.now();
    }
    const retryAfter = Number(end.metadata?.get('x-retry-after-ms')[0] ?? 0);
    if (retryAfter > 0) this.#notBefore = Math.max(this.#notBefore, Date.now() + retryAfter);
    this.emit('offline', end.code, end.details);
    if (!this.#wanted) return;
    const { firstMs, longestMs } = this.#options.backoff ?? { firstMs: 500, longestMs: 60_000 };
    const ceiling = Math.min(longestMs, firstMs * 2 ** Math.min(this.#failures, 16));
    this.#failures += 1;
    this.#schedule(Math.random() * ceiling);
  }

  #receive(message: ConnectResponse): void {
    this.emit('received', message);
    const { body } = message;
    switch (body.case) {
      case 'welcome':
        this.#failures = 0;
        this.sessionEpoch = Number(body.value.sessionEpoch);
        this.#clockCorrectionMs = Number(body.value.serverTimeMs) - this.now();
        this.#outbox.open(Number(body.value.ackedReportId));
        this.#urls.open();
        this.emit('online', this.sessionEpoch);
        break;
      case 'offer':
        this.#onOffer(body.value);
        break;
      case 'start':
        this.#onStart(Number(body.value.transactionId));
        break;
      case 'drop':
        this.#onDrop(Number(body.value.transactionId));
        break;
      case 'reportAck':
        this.#outbox.acknowledged(Number(body.value.reportId));
        this.emit('acknowledged', Number(body.value.reportId));
        break;
      case 'goAway':
        this.#onGoAway(body.value);
        break;
      case 'urlAnswer':
        this.#urls.answered(body.value);
        break;
    }
  }

  #onGoAway({ reason, retryAfterMs }: GoAway): void {
    this.#notBefore = Date.now() + retryAfterMs;
    // A draining server is no failure: the next try is made as soon as it allows.
    this.#failures = reason === GoAwayReason.DRAINING ? 0 : this.#failures + 1;
    this.#call?.end();
  }

  #onOffer(offer: Offer): void {
    const id = Number(offer.transactionId);
    this.#point('received', id);
    this.journal.learnEpoch(Number(offer.activationEpoch));
    if (!this.journal.held.has(id) && !this.journal.outcomes.has(id)) this.journal.offered(offer);
    answer(this.behaviour.ready, this.behaviour, (asked) => {
      this.#send({ case: 'ready', value: { transactionId: BigInt(asked ?? id) } }, () =>
        this.#point('ready-sent', id),
      );
    });
  }

  #onStart(id: number): void {
    const held = this.journal.held.get(id);
    const outcome = this.journal.outcomes.get(id);
    if (outcome) {
      // It has taken effect before. A result that is still kept is sent anyway; one that the cloud
      // has acknowledged, but asks for again, is told once more under a new report id.
      if (!held) this.#reportResult(id, outcome);
      return;
    }
    if (!held || this.#inHand.has(id)) return;
    if (held.state === 'offered') this.journal.started(id);
    this.#inHand.add(id);
    // One after the other, in the order in which the starts came.
    this.#working = this.#working.then(() => this.#perform(id, held));
  }

  async #perform(id: number, held: Held): Promise<void> {
    this.#point('started', id);
    const { kind } = held.offer.operation ?? { kind: { case: undefined } };
    let failure: string | undefined;
    if (kind.case === 'updateApp' || kind.case === 'updateFirmware') {
      failure = refusal(held.offer, this.journal.activationEpoch, this.behaviour);
      try {
        failure ??= await this.#installer.prepare(id, kind.value.artifact);
      } catch (error) {
        // Closed meanwhile: the journal says that it is started, and the file how far it is.
        if (this.#closed.signal.aborted) return;
        throw error;
      }
    } else if (this.behaviour.effectMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, this.behaviour.effectMs));
    }
    answer(this.behaviour.result, this.behaviour, (asked) => {
      if (asked === undefined) this.#finish(id, held, failure);
      else this.#reportResult(asked, { success: true, message: 'called' });
    });
    this.#inHand.delete(id);
  }

  /** Does the work, unless it is done or `failure` says why it cannot be, and keeps its result. */
  #finish(id: number, held: Held, failure?: string): void {
    // A closed headset does nothing more, as if it had died.
    if (this.journal.outcomes.has(id) || this.#closed.signal.aborted) return;
    const before = this.device.state;
    const { tookPlace, ...outcome } =
      failure === undefined
        ? work(held.offer, this.journal.activationEpoch, this.behaviour, this.device, this.effects)
        : { success: false, message: failure, tookPlace: false };
    if (tookPlace) this.emit('effect', id, held.offer.operationId);
    this.#point('effect-done', id);
    const kind = held.offer.operation?.kind.case;
    if (isUpdate(kind)) this.#installer.discard(id);
    const isReset = kind === 'reset' && tookPlace;
    if (isReset && this.behaviour.loseResetResult) {
      this.journal.dropped(id);
    } else {
      // What a reset ends is told by the next session: this one is over.
      if (isReset) this.#outbox.close();
      const reports = resultReports({
        ...{ id, held, outcome, behaviour: this.behaviour, device: this.device, before },
        draft: (body, further) => this.#outbox.draft(body, further),
      });
      this.journal.finished(id, outcome, reports.now);
      this.#outbox.queue(reports.now);
      const { later } = reports;
      if (later) setTimeout(() => this.#reportLater(later), this.behaviour.appAnswerDelayMs).unref();
      if (this.behaviour.result === 'twice') this.#reportResult(id, outcome);
    }
    if (isReset) this.stayAway(this.behaviour.resetMs);
  }

  #onDrop(id: number): void {
    const held = this.journal.held.get(id);
    // Work in hand cannot be called back, and a result that is kept is still reported.
    if (!held || held.state === 'finished' || this.#inHand.has(id)) return;
    this.journal.dropped(id);
    if (isUpdate(held.offer.operation?.kind.case)) this.#installer.discard(id);
  }

  #reportResult(id: number, outcome: Outcome): void {
    this.report(resultReport(id, outcome, this.behaviour));
  }

  #reportLater(body: ReportBody): void {
    if (!this.#closed.signal.aborted) this.report(body);
  }

  #sendReport(report: Report): void {
    const { body } = report;
    this.#send(
      { case: 'report', value: report },
      body.case === 'result' ? () => this.#point('result-sent', Number(body.value.transactionId)) : undefined,
    );
  }

  #send(body: NonNullable<MessageInitShape<typeof ConnectRequestSchema>['body']>, sent?: () => void): void {
    const message: ConnectRequest = create(ConnectRequestSchema, { body });
    this.#call?.write(message, sent);
  }

  #point(point: DeathPoint, transactionId: number): void {
    this.#options.atPoint?.(point, transactionId);
  }
}

function isUpdate(kind: string | undefined): boolean {
  return kind === 'updateApp' || kind === 'updateFirmware';
}

function initialContent({
  content,
  firmwareVersion,
  apps,
  languages,
}: HeadsetOptions): Partial<DeviceContent> {
  return {
    ...(firmwareVersion !== undefined && { firmwareVersion }),
    ...(apps && { apps }),
    ...(languages && { languages }),
    ...content,
  };
}
