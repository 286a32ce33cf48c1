import { EventEmitter } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ChannelOptions, status } from '@grpc/grpc-js';
import type { ConnectResponse, Report, Welcome } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import type { BackoffBounds } from '@headset-cloud/runtime/backoff.ts';
import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import { applyWelcomeActivation } from './activations.ts';
import { Backoff } from './backoff.ts';
import { type Behaviour, type DeathPoint, normalBehaviour } from './behaviour.ts';
import { CorrectedClock } from './clock.ts';
import { type Connection, GrpcConnection } from './connection.ts';
import type { DeviceContent } from './content.ts';
import { Device } from './device.ts';
import { Effects } from './effects.ts';
import { hello, type SelfDescription } from './hello.ts';
import { type Http, http } from './http.ts';
import { mintToken } from './identity.ts';
import { Installer } from './installer.ts';
import { Journal } from './journal.ts';
import { type Durability, LineFile } from './line-file.ts';
import { simulatedNetwork } from './network.ts';
import { Outbox, type ReportBody, type ReportDetails } from './outbox.ts';
import { connectionNotice, inventory, inventoryChanged } from './results.ts';
import { type RequestBody, Session } from './session.ts';
import { Transactions } from './transactions.ts';
import { Uploads } from './uploads.ts';
import { UrlRequests } from './urls.ts';

/** Parts of the content that can also be set as separate options. `content` has priority. */
type Installed = Partial<Pick<DeviceContent, 'firmwareVersion' | 'apps' | 'languages'>>;

export interface HeadsetOptions extends SelfDescription, Installed {
  /** The content at the first start and after a reset. Missing parts are taken from factoryContent. */
  readonly content?: Partial<DeviceContent>;
  readonly identity: HeadsetKeyFile;
  /** host:port of device-link. */
  readonly server: string;
  /** Certificate authorities (PEM) for the server's certificate; absent: no TLS. */
  readonly ca?: string;
  /** Folder of the headset's files; not needed with durability `none`. */
  readonly stateDir?: string;
  /** Default: `process` if `stateDir` is set, otherwise `none`. */
  readonly durability?: Durability;
  readonly audience?: string;
  readonly behaviour?: Partial<Behaviour>;
  /** First and longest wait between connection attempts; milliseconds. Default 500 and 60 000. */
  readonly backoff?: BackoffBounds;
  /** Maximum wait for a welcome; milliseconds. Default 10 000. */
  readonly welcomeMs?: number;
  /** Called at each death point. The simulator can kill its process there. */
  readonly atPoint?: (point: DeathPoint, transactionId: number) => void;
  readonly channelOptions?: ChannelOptions;
  /** The headset's clock without the simulated error (`behaviour.skewMs`); default: the system clock. */
  readonly clock?: Clock;
  /** Default: grpc-js to `server`. */
  readonly connection?: Connection;
  /** The HTTP client for updates and uploads. */
  readonly http?: Http;
  /** Opens one of the headset's files by its name; default: in `stateDir`. */
  readonly openFile?: (name: string) => LineFile;
}

type StateChangeInit = Extract<ReportBody, { case: 'stateChange' }>['value'];

/** Events that tests can wait for. */
export interface HeadsetEvents {
  /** A session has begun. */
  online: [epoch: number];
  /** A message from the cloud was received and is not handled yet. */
  received: [message: ConnectResponse];
  /** An operation took effect; `operation`: its operationId. */
  effect: [transactionId: number, operation: string];
  /** Reports up to this id are acknowledged. */
  acknowledged: [reportId: number];
  /** The stream ended. */
  offline: [code: status, details: string];
}

/** One headset: connects the parts, and offers methods for events of its apps, its wearer and its surroundings. */
export class Headset extends EventEmitter<HeadsetEvents> {
  readonly deviceId: string;
  /** Can be changed at any time. */
  readonly behaviour: Behaviour;
  readonly journal: Journal;
  readonly effects: Effects;
  /** The headset's content and surroundings. */
  readonly device: Device;
  readonly #options: HeadsetOptions;
  readonly #session: Session;
  readonly #outbox: Outbox;
  readonly #urls: UrlRequests;
  readonly #uploads: Uploads;
  readonly #installer: Installer;
  readonly #transactions: Transactions;
  readonly #closed = new AbortController();

  constructor(options: HeadsetOptions) {
    super();
    this.#options = options;
    const { identity, stateDir = '.', audience = 'headset-cloud/device-link' } = options;
    const { deviceId } = identity;
    this.deviceId = deviceId;
    this.behaviour = { ...normalBehaviour, ...options.behaviour };
    const behaviour = this.behaviour;

    const durability = options.durability ?? (options.stateDir === undefined ? 'none' : 'process');
    const open = options.openFile ?? ((name) => new LineFile(join(stateDir, name), durability));
    this.journal = new Journal(open(`${deviceId}.journal.jsonl`));
    this.effects = new Effects(open(`${deviceId}.effects.jsonl`));
    this.device = new Device(open(`${deviceId}.device.jsonl`), initialContent(options));
    const { journal, effects, device } = this;

    const clock = new CorrectedClock(options.clock ?? systemClock, () => behaviour.skewMs);
    const nowMs = () => clock.now();
    this.#session = new Session({
      ...{ clock, backoff: new Backoff(options.backoff), welcomeMs: options.welcomeMs ?? 10_000 },
      connection:
        options.connection ?? new GrpcConnection(options.server, options.channelOptions, options.ca),
      token: () => mintToken(identity, audience, clock.now()),
      hello: () => hello(options, device.state, journal, clock.uncorrected()),
      onMessage: (message) => this.#onMessage(message),
      onWelcome: (welcome) => this.#onWelcome(welcome),
      onEnd: ({ code, details }) => {
        outbox.close();
        urls.close();
        this.emit('offline', code, details);
      },
    });
    const outbox = new Outbox({ journal, nowMs, send: (report) => this.#sendReport(report) });
    const urls = new UrlRequests((value) => this.#session.send({ case: 'urlRequest', value }));
    const parts = { behaviour, journal, effects, device, outbox, urls, nowMs };
    const transfers = {
      ...parts,
      http: simulatedNetwork(options.http ?? http, behaviour),
      signal: this.#closed.signal,
    };
    const installer = new Installer({
      ...{ ...transfers, deviceId, directory: durability === 'none' ? undefined : stateDir },
      report: (body) => this.report(body),
      atLoading: (id) => this.#point('loading', id),
    });
    this.#outbox = outbox;
    this.#urls = urls;
    this.#installer = installer;
    this.#uploads = new Uploads(transfers, (upload) => this.#point('uploaded', upload.id));
    this.#transactions = new Transactions({
      ...{ ...parts, installer, closed: this.#closed.signal },
      sendReady: (id, sent) =>
        this.#session.send({ case: 'ready', value: { transactionId: BigInt(id) } }, sent),
      point: (point, id) => this.#point(point, id),
      onEffect: (id, operation) => this.emit('effect', id, operation),
      restart: () => this.stayAway(behaviour.resetMs),
      activationChanged: () => this.#uploads.stopEnded(),
    });
  }

  /** The current session epoch; 0 while there is no session. */
  get sessionEpoch(): number {
    return this.#session.epoch;
  }

  /** Connects, and reconnects after each end of a session until `close` or `stayAway`. */
  connect(): void {
    this.#session.connect();
  }

  /** Drops the stream. The headset then reconnects. */
  disconnect(): void {
    this.#session.disconnect();
  }

  /** Drops the connection and reconnects after `ms`. */
  stayAway(ms: number): void {
    this.#session.stayAway(ms);
  }

  /** Closes the session and releases all resources. The files stay. */
  async close(): Promise<void> {
    await this.#session.close();
    this.#closed.abort();
    await Promise.all([this.#installer.close(), this.#uploads.close()]);
    this.journal.close();
    this.effects.close();
    this.device.close();
  }

  /**
   * Stores a report until it is acknowledged, and sends it. `details` can set another time or activation epoch.
   * Returns the report's id, or 0 for a second answer of an app to the same command, which is not reported.
   */
  report(body: ReportBody, details?: ReportDetails): number {
    if (body.case === 'stateChange') this.#storeCondition(body.value);
    if (body.case === 'appAnswer' && this.journal.outcomes.get(Number(body.value.transactionId))?.answered) {
      return 0;
    }
    return this.#outbox.add(body, details);
  }

  /**
   * Uploads a local file, or `sizeBytes` generated bytes. The upload is stored until its end is reported. In `file`,
   * `{applicationId}` and `{deviceId}` are replaced by the headset's ids. Returns the upload's number. Throws if the
   * local file does not exist.
   */
  upload(upload: { file: string; path: string } | { file: string; sizeBytes: number }): number {
    const file = upload.file
      .replace('{applicationId}', this.journal.activation.applicationId)
      .replace('{deviceId}', this.deviceId);
    const sizeBytes = 'path' in upload ? statSync(upload.path).size : upload.sizeBytes;
    return this.#uploads.add({ ...upload, file, sizeBytes });
  }

  /** Changes the headset's content or surroundings, and reports the change. */
  changeContent(content: Partial<DeviceContent>): void {
    const before = this.device.state;
    this.device.changeContent(content);
    if (inventoryChanged(before, this.device.state)) this.report(inventory(this.device.state));
    const notice = connectionNotice(before, this.device.state, 0);
    if (notice) this.report(notice);
  }

  /** Sends a message unchanged, even if it violates the protocol. */
  sendRaw(body: RequestBody): void {
    this.#session.send(body);
  }

  #onMessage(message: ConnectResponse): void {
    this.emit('received', message);
    const { body } = message;
    switch (body.case) {
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
        this.#outbox.acknowledged(Number(body.value.reportId));
        this.emit('acknowledged', Number(body.value.reportId));
        break;
      case 'urlAnswer':
        this.#urls.answered(body.value);
        break;
      default:
        // The session handles welcome and go_away. Unknown messages are ignored.
        break;
    }
  }

  #onWelcome({ activation, ackedReportId }: Welcome): void {
    applyWelcomeActivation(
      activation,
      { journal: this.journal, device: this.device, outbox: this.#outbox },
      () => this.#point('erased', 0),
    );
    this.#transactions.onActivation();
    this.#outbox.open(Number(ackedReportId));
    this.#urls.open();
    this.emit('online', this.sessionEpoch);
  }

  /** Adds a reported state change to the stored condition of the headset. */
  #storeCondition({ $typeName: _, location, ...fields }: StateChangeInit): void {
    const reported = Object.entries(fields).filter(([, value]) => value !== undefined);
    const { condition } = this.device.state;
    const at = location && { latitude: location.latitude ?? 0, longitude: location.longitude ?? 0 };
    this.device.changeContent({
      condition: { ...condition, ...Object.fromEntries(reported), ...(at && { location: at }) },
    });
  }

  #sendReport(report: Report): void {
    const { body } = report;
    const sent =
      body.case === 'result' ? () => this.#point('result-sent', Number(body.value.transactionId)) : undefined;
    this.#session.send({ case: 'report', value: report }, sent);
  }

  #point(point: DeathPoint, transactionId: number): void {
    this.#options.atPoint?.(point, transactionId);
  }
}

function initialContent({ content, ...options }: HeadsetOptions): Partial<DeviceContent> {
  const { firmwareVersion, apps, languages } = options;
  return {
    ...(firmwareVersion !== undefined && { firmwareVersion }),
    ...(apps && { apps }),
    ...(languages && { languages }),
    ...content,
  };
}
