import { EventEmitter } from 'node:events';
import { statSync } from 'node:fs';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type ChannelOptions, type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { BackoffBounds } from '@headset-cloud/kit/backoff.ts';
import { type Clock, monotonicMs, systemClock } from '@headset-cloud/kit/clock.ts';
import type { HeadsetKeyFile } from '@headset-cloud/kit/headset-key.ts';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  type GoAway,
  GoAwayReason,
  type Report,
  type Welcome,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { learn } from './activations.ts';
import { Backoff } from './backoff.ts';
import { type Behaviour, breaks, type DeathPoint, normalBehaviour } from './behaviour.ts';
import type { DeviceContent } from './content.ts';
import { Device } from './device.ts';
import { Effects } from './effects.ts';
import { hello, type SelfDescription } from './hello.ts';
import { mintToken } from './identity.ts';
import { Installer } from './installer.ts';
import { Journal } from './journal.ts';
import { Line, type LineCall } from './line.ts';
import type { Durability } from './memory.ts';
import { Outbox, type ReportBody, type ReportDetails } from './outbox.ts';
import { connectionNotice, inventory, inventoryChanged } from './results.ts';
import { Transactions } from './transactions.ts';
import { Uploads } from './uploads.ts';
import { UrlRequests } from './urls.ts';

/** Parts of the content that may be given separately; a given `content` wins. */
type Installed = Partial<Pick<DeviceContent, 'firmwareVersion' | 'apps' | 'languages'>>;

export interface HeadsetOptions extends SelfDescription, Installed {
  /** The initial content, also after a reset; missing parts are taken from factoryContent. */
  readonly content?: Partial<DeviceContent>;
  readonly identity: HeadsetKeyFile;
  /** host:port of device-link. */
  readonly server: string;
  /** Certificates (PEM) of the authorities that the server's is judged by; absent: no TLS. */
  readonly ca?: string;
  /** Folder of the journal and the effects; not needed with durability `none`. */
  readonly stateDir?: string;
  /** Default: `process` with a stateDir, else `none`. */
  readonly durability?: Durability;
  readonly audience?: string;
  readonly behaviour?: Partial<Behaviour>;
  /** Bounds of the wait between two tries to connect; milliseconds. Default 500 to 60 000. */
  readonly backoff?: BackoffBounds;
  /** How long the headset waits for a welcome; milliseconds. Default 10 000. */
  readonly welcomeMs?: number;
  /** Called at each named point; a simulator's process may kill itself there. */
  readonly atPoint?: (point: DeathPoint, transactionId: number) => void;
  readonly channelOptions?: ChannelOptions;
  /** The headset's clocks before the error that `behaviour` sets; default: the machine's. */
  readonly clock?: Clock;
}

type StateChangeInit = Extract<ReportBody, { case: 'stateChange' }>['value'];

/** Events that tests can wait for. */
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
  /** The headset's content and surroundings. */
  readonly device: Device;
  /** The current session epoch; 0 while there is no session. */
  sessionEpoch = 0;
  readonly #options: HeadsetOptions;
  readonly #clock: Clock;
  readonly #line: Line;
  readonly #outbox: Outbox;
  readonly #urls: UrlRequests;
  readonly #uploads: Uploads;
  readonly #installer: Installer;
  readonly #transactions: Transactions;
  readonly #closed = new AbortController();
  #call: LineCall | undefined;
  #wanted = false;
  #timer: NodeJS.Timeout | undefined;
  #unwelcome: NodeJS.Timeout | undefined;
  #clockCorrectionMs = 0;
  /** When the running connection was opened, by the monotonic clock; milliseconds. */
  #openedAtMs = 0;
  /** For the faults. */
  #firstToken: string | undefined;
  readonly #backoff: Backoff;

  constructor(options: HeadsetOptions) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#backoff = new Backoff(options.backoff);
    this.deviceId = options.identity.deviceId;
    this.behaviour = { ...normalBehaviour, ...options.behaviour };
    const durability = options.durability ?? (options.stateDir === undefined ? 'none' : 'process');
    this.journal = new Journal(options.stateDir ?? '.', this.deviceId, durability);
    this.effects = new Effects(options.stateDir ?? '.', this.deviceId, durability);
    this.device = new Device(options.stateDir ?? '.', this.deviceId, durability, initialContent(options));
    this.#outbox = new Outbox({
      ...{ journal: this.journal, behaviour: this.behaviour },
      nowMs: () => this.now() + this.#clockCorrectionMs,
      send: (report) => this.#sendReport(report),
    });
    const channelOptions = {
      ...(breaks(this.behaviour, 'no-pings') && { 'grpc.keepalive_time_ms': 2 ** 31 - 1 }),
      ...(breaks(this.behaviour, 'pings-rarely') && { 'grpc.keepalive_time_ms': 25_000 }),
      ...options.channelOptions,
    };
    this.#line = new Line(options.server, channelOptions, options.ca);
    const signal = this.#closed.signal;
    this.#urls = new UrlRequests(this.behaviour, (value) => this.#send({ case: 'urlRequest', value }));
    this.#installer = new Installer({
      ...{ deviceId: this.deviceId, behaviour: this.behaviour, urls: this.#urls, signal },
      directory: durability === 'none' ? undefined : options.stateDir,
      nowMs: () =>
        this.now() + (breaks(this.behaviour, 'expires-by-own-clock') ? 0 : this.#clockCorrectionMs),
      report: (body) => this.report(body),
      atLoading: (id) => this.#point('loading', id),
    });
    this.#uploads = new Uploads(
      {
        ...{ journal: this.journal, outbox: this.#outbox, urls: this.#urls, signal },
        behaviour: this.behaviour,
        nowMs: () => this.now() + this.#clockCorrectionMs,
      },
      (upload) => this.#point('uploaded', upload.id),
    );
    this.#transactions = new Transactions({
      ...{ behaviour: this.behaviour, journal: this.journal, effects: this.effects, device: this.device },
      ...{ outbox: this.#outbox, installer: this.#installer, closed: signal },
      sendReady: (id, sent) => this.#send({ case: 'ready', value: { transactionId: BigInt(id) } }, sent),
      point: (point, id) => this.#point(point, id),
      onEffect: (id, operation) => this.emit('effect', id, operation),
      restart: () => this.stayAway(this.behaviour.resetMs),
      activationChanged: () => this.#uploads.stopEnded(),
    });
  }

  /** The headset's own clock, with the error that its behaviour sets; milliseconds since 1970. */
  now(): number {
    return this.#clock.now() + this.behaviour.skewMs;
  }

  /** Connects, and keeps connected until `close` or `stayAway`. */
  connect(): void {
    this.#wanted = true;
    this.#schedule(0);
  }

  /** Drops the connection without ending the stream; the headset reconnects by itself. */
  disconnect(): void {
    this.#call?.cancel();
  }

  /** Drops the connection and comes back after `ms`. */
  stayAway(ms: number): void {
    this.#backoff.awayFor(ms);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#call) this.#call.cancel();
    else if (this.#wanted) this.#schedule(ms);
  }

  /** Ends the stream properly and releases all resources. The files stay. */
  async close(): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#timer);
    clearTimeout(this.#unwelcome);
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
   * Adds a report, dated now unless `details` say otherwise; it is stored until it is acknowledged. Returns
   * the report's id; 0 for a second answer of an app, which is not reported.
   */
  report(body: ReportBody, details?: ReportDetails): number {
    if (body.case === 'stateChange') this.#noteCondition(body.value);
    if (body.case === 'appAnswer' && !breaks(this.behaviour, 'answers-twice')) {
      if (this.journal.outcomes.get(Number(body.value.transactionId))?.answered) return 0;
    }
    return this.#outbox.add(body, details);
  }

  /**
   * Uploads a local file, or `sizeBytes` generated bytes; the upload is stored until its end is reported.
   * In `file`, `{applicationId}` and `{deviceId}` stand for the headset's own. Returns the upload's number.
   * Throws when there is no such local file.
   */
  upload(upload: { file: string; path: string } | { file: string; sizeBytes: number }): number {
    const file = upload.file
      .replace('{applicationId}', this.journal.activation.applicationId)
      .replace('{deviceId}', this.deviceId);
    const sizeBytes = 'path' in upload ? statSync(upload.path).size : upload.sizeBytes;
    return this.#uploads.add({ ...upload, file, sizeBytes });
  }

  /** Changes the headset's content or surroundings, as its wearer or the environment would. */
  happen(content: Partial<DeviceContent>): void {
    const before = this.device.state;
    this.device.happen(content);
    const changed = inventoryChanged(before, this.device.state);
    if (changed && !breaks(this.behaviour, 'no-inventory')) this.report(inventory(this.device.state));
    const notice = connectionNotice(before, this.device.state, 0);
    if (notice && this.behaviour.connectionNotices) this.report(notice);
  }

  /** Sends any message unchanged, even one that breaks the protocol. */
  sendRaw(body: MessageInitShape<typeof ConnectRequestSchema>['body']): void {
    if (body) this.#send(body);
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    const waitMs = breaks(this.behaviour, 'no-backoff') ? 0 : this.#backoff.wait(ms);
    this.#timer = setTimeout(() => this.#open(), waitMs);
  }

  #open(): void {
    if (!this.#wanted || this.#call) return;
    const audience = this.#options.audience ?? 'headset-cloud/device-link';
    const token = mintToken(this.#options.identity, audience, this.now() + this.#clockCorrectionMs);
    this.#firstToken ??= token;
    const call = this.#line.connect(breaks(this.behaviour, 'reuses-token') ? this.#firstToken : token);
    this.#call = call;
    this.#openedAtMs = monotonicMs(this.#clock);
    // A connection that was accepted and then stays silent never ends by itself.
    if (!breaks(this.behaviour, 'waits-for-welcome-forever')) {
      this.#unwelcome = setTimeout(() => {
        this.#line.renew();
        call.cancel();
      }, this.#options.welcomeMs ?? 10_000);
    }
    call.on('data', (message: ConnectResponse) => {
      // Protocol page, "The session": messages of an earlier stream are ignored (rule B1).
      if (this.#call === call || breaks(this.behaviour, 'uses-old-stream')) this.#receive(message);
    });
    call.on('error', (error: ServiceError) => this.#ended(call, error));
    call.on('status', (s: ServiceError) => this.#ended(call, s));
    const { journal, behaviour } = this;
    const clockMs = this.now() + (breaks(behaviour, 'corrects-hello-clock') ? this.#clockCorrectionMs : 0);
    const value = hello(this.#options, this.device.state, journal, clockMs, behaviour);
    this.#send({ case: 'hello', value });
    if (breaks(behaviour, 'reports-before-welcome')) this.#outbox.open(0);
  }

  #ended(call: LineCall, end: { code: status; details: string; metadata?: Metadata | undefined }): void {
    if (this.#call !== call) return;
    this.#call = undefined;
    clearTimeout(this.#unwelcome);
    this.sessionEpoch = 0;
    this.#outbox.close();
    this.#urls.close();
    const serverTime = Number(end.metadata?.get('x-server-time-ms')[0] ?? 0);
    if (end.code === status.UNAUTHENTICATED && serverTime > 0) this.#correctClock(serverTime);
    this.#waitFor(Number(end.metadata?.get('x-retry-after-ms')[0] ?? 0));
    this.emit('offline', end.code, end.details);
    if (this.#wanted) this.#schedule(this.#backoff.ended());
  }

  /** The server read its clock since the connection was opened: a correction that may be right is kept. */
  #correctClock(serverTimeMs: number): void {
    if (breaks(this.behaviour, 'uncorrected-clock')) return;
    const leastMs = serverTimeMs - this.now();
    const underWayMs = breaks(this.behaviour, 'ignores-delay')
      ? 0
      : monotonicMs(this.#clock) - this.#openedAtMs;
    const mostMs = leastMs + underWayMs;
    this.#clockCorrectionMs = Math.round(Math.min(mostMs, Math.max(leastMs, this.#clockCorrectionMs)));
  }

  /** Connects no sooner than after `ms`. */
  #waitFor(ms: number): void {
    if (!breaks(this.behaviour, 'ignores-retry-after')) this.#backoff.atLeast(ms);
  }

  #receive(message: ConnectResponse): void {
    this.emit('received', message);
    const { body } = message;
    switch (body.case) {
      case 'welcome':
        this.#onWelcome(body.value);
        break;
      case 'offer':
        this.#transactions.onOffer(body.value);
        break;
      case 'start':
        this.#transactions.onStart(Number(body.value.transactionId));
        break;
      case 'drop':
        this.#transactions.onDrop(Number(body.value.transactionId));
        break;
      case 'revoke':
        this.#transactions.onRevoke(Number(body.value.transactionId), body.value.reason);
        break;
      case 'reportAck':
        this.#backoff.reset();
        this.#outbox.acknowledged(Number(body.value.reportId));
        this.emit('acknowledged', Number(body.value.reportId));
        break;
      case 'goAway':
        this.#onGoAway(body.value);
        break;
      case 'urlAnswer':
        this.#urls.answered(body.value);
        break;
      default:
        if (breaks(this.behaviour, 'ends-on-unknown')) this.disconnect();
    }
  }

  #onWelcome(welcome: Welcome): void {
    clearTimeout(this.#unwelcome);
    this.#backoff.welcomed(breaks(this.behaviour, 'welcome-resets-backoff'));
    this.sessionEpoch = Number(welcome.sessionEpoch);
    this.#correctClock(Number(welcome.serverTimeMs));
    const { journal, device, behaviour } = this;
    learn(welcome.activation, { journal, device, behaviour, outbox: this.#outbox }, () =>
      this.#point('erased', 0),
    );
    this.#transactions.onActivation();
    this.#transactions.onSession(Number(welcome.activation?.revision ?? 0));
    const acked = breaks(behaviour, 'ignores-acked-in-welcome') ? 0 : Number(welcome.ackedReportId);
    this.#outbox.open(acked);
    this.#urls.open();
    this.emit('online', this.sessionEpoch);
  }

  /** The session is over with this message, whenever the server ends the stream. */
  #onGoAway({ reason, retryAfterMs }: GoAway): void {
    const call = this.#call;
    if (!call) return;
    this.#waitFor(retryAfterMs);
    // A draining server is no failure, so the headset reconnects as soon as the server allows.
    if (reason === GoAwayReason.DRAINING) this.#backoff.reset();
    call.end();
    this.#ended(call, { code: status.OK, details: 'go away' });
  }

  /** Stores the reported state as the headset's known state. */
  #noteCondition({ $typeName: _, location, ...fields }: StateChangeInit): void {
    const told = Object.entries(fields).filter(([, value]) => value !== undefined);
    const { condition } = this.device.state;
    const at = location && { latitude: location.latitude ?? 0, longitude: location.longitude ?? 0 };
    this.device.happen({
      condition: { ...condition, ...Object.fromEntries(told), ...(at && { location: at }) },
    });
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
