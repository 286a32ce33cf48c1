import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  type CurrentActivationSchema,
  HeadsetLinkService,
  type Hello,
  type OperationSchema,
  type Report,
  type UrlAnswerSchema,
  type UrlRequest,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { generateHeadsetKey } from '@headset-cloud/rules/headset-key.ts';
import { type Clock, systemClock } from '@headset-cloud/runtime/clock.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Headset, type HeadsetOptions } from '../headset.ts';

export const deviceId = '350000000000018';
const { file: identity } = generateHeadsetKey(deviceId);

type Call = ServerDuplexStream<ConnectRequest, ConnectResponse>;
type Body = MessageInitShape<typeof ConnectResponseSchema>['body'];
type OperationKind = NonNullable<MessageInitShape<typeof OperationSchema>['kind']>;
type ReportCase = NonNullable<Report['body']['case']>;
type ReportValue<K extends ReportCase> = Extract<Report['body'], { case: K }>['value'];

/** The cloud's side of the protocol on a real gRPC server. A test can make it violate the protocol. */
export class Cloud {
  readonly hellos: Hello[] = [];
  /** All received reports, including repeated ones. */
  readonly reports: Report[] = [];
  readonly urlRequests: UrlRequest[] = [];
  readonly readies: number[] = [];
  /** The answer to a request for a URL; undefined: no answer. */
  onUrl: (request: UrlRequest) => MessageInitShape<typeof UrlAnswerSchema> | undefined = () => undefined;
  /** Whether reports are acknowledged. */
  acknowledges = true;
  /** Whether `ready` is answered by `start`. */
  starts = true;
  /** Whether the server ends a stream after the headset has ended it. */
  endsStreams = true;
  /** Whether a hello is answered. */
  welcomes = true;
  /** `acked_report_id` of the welcome. */
  ackedReportId = 0n;
  /** The activation in the welcome. */
  activation: MessageInitShape<typeof CurrentActivationSchema> | undefined;
  /** The clock of the cloud and of its headsets. */
  clock: Clock = systemClock;
  /** Called after each welcome. */
  onHello: (hello: Hello) => void = () => {};
  /**
   * Unfinished transactions. Each session offers them, and starts them when the headset is ready.
   */
  readonly #offers = new Map<number, { operationId: string; epoch: number; kind: OperationKind }>();
  readonly #server = new Server();
  readonly #stateDir = mkdtempSync(join(tmpdir(), 'headset-'));
  readonly #headsets = new Set<Headset>();
  #call: Call | undefined;
  #port = 0;

  async start(): Promise<void> {
    const method = HeadsetLinkService.method.connect;
    this.#server.addService(
      {
        connect: {
          path: `/${HeadsetLinkService.typeName}/${method.name}`,
          requestStream: true,
          responseStream: true,
          requestSerialize: (message: ConnectRequest) => Buffer.from(toBinary(ConnectRequestSchema, message)),
          requestDeserialize: (data: Buffer) => fromBinary(ConnectRequestSchema, data),
          responseSerialize: (message: ConnectResponse) =>
            Buffer.from(toBinary(ConnectResponseSchema, message)),
          responseDeserialize: (data: Buffer) => fromBinary(ConnectResponseSchema, data),
        },
      },
      { connect: (call: Call) => this.#accept(call) },
    );
    this.#port = await new Promise((resolve, reject) =>
      this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      ),
    );
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Folder of the headsets' state. */
  get stateDir(): string {
    return this.#stateDir;
  }

  /** Writes a file next to the headsets' state and returns its path. */
  file(name: string, text: string): string {
    const path = join(this.#stateDir, name);
    writeFileSync(path, text);
    return path;
  }

  /** The headset's key file, for the command line. */
  keyFile(): string {
    return this.file('key.json', JSON.stringify(identity));
  }

  /** Starts a headset with the stored state of the previous one. It is closed with the cloud. */
  headset(options: Partial<HeadsetOptions> = {}): Headset {
    const made = new Headset({
      ...{ identity, server: this.address, stateDir: this.#stateDir, clock: this.clock },
      backoff: { firstMs: 10, maxMs: 50 },
      ...options,
    });
    this.#headsets.add(made);
    made.connect();
    return made;
  }

  async online(options: Partial<HeadsetOptions> = {}): Promise<Headset> {
    const made = this.headset(options);
    await waitFor('the session', () => made.sessionEpoch > 0);
    return made;
  }

  /** Offers a transaction now and in each session until it is finished. */
  offer(transactionId: number, kind: OperationKind, operationId = kind.case ?? '', epoch = 1): void {
    this.#offers.set(transactionId, { operationId, epoch, kind });
    this.#offer(transactionId);
  }

  /** Stops offering a transaction. */
  forget(transactionId: number): void {
    this.#offers.delete(transactionId);
  }

  send(body: Body): void {
    this.#call?.write(create(ConnectResponseSchema, body ? { body } : {}));
  }

  /** Returns a function that sends on the current stream, also after a newer stream has begun. */
  line(): (body: NonNullable<Body>) => void {
    const call = this.#call;
    return (body) => call?.write(create(ConnectResponseSchema, { body }));
  }

  /** Values of all reports of a kind in order, without repetitions. */
  reported<K extends ReportCase>(kind: K): ReportValue<K>[] {
    const seen = new Map(this.reports.map((report) => [report.reportId, report.body]));
    return [...seen.values()].flatMap((body) => (body.case === kind ? [body.value as ReportValue<K>] : []));
  }

  /** Waits for the result of a transaction and returns it. */
  result(transactionId: number): Promise<ReportValue<'result'>> {
    return waitFor(
      `the result of ${transactionId}`,
      () => this.reported('result').find((result) => result.transactionId === BigInt(transactionId)),
      { timeoutMs: 30_000 },
    );
  }

  /** The lines of the effects file. */
  effects(): { transactionId: number; operation: string }[] {
    try {
      return readFileSync(join(this.#stateDir, `${deviceId}.effects.jsonl`), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    } catch {
      return [];
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#headsets].map((headset) => headset.close()));
    this.#server.forceShutdown();
    rmSync(this.#stateDir, { recursive: true, force: true });
  }

  #accept(call: Call): void {
    this.#call = call;
    call.on('data', ({ body }: ConnectRequest) => {
      if (call !== this.#call) return;
      if (body.case === 'hello') this.#welcome(body.value);
      if (body.case === 'ready') this.readies.push(Number(body.value.transactionId));
      if (body.case === 'ready' && this.starts && this.#offers.has(Number(body.value.transactionId))) {
        this.send({ case: 'start', value: { transactionId: body.value.transactionId } });
      }
      if (body.case === 'report') this.#onReport(body.value);
      if (body.case === 'urlRequest') this.#onUrlRequest(body.value);
    });
    call.on('end', () => {
      if (this.endsStreams) call.end();
    });
    call.on('error', () => {});
  }

  #welcome(hello: Hello): void {
    this.hellos.push(hello);
    const sessionEpoch = BigInt(this.hellos.length);
    if (!this.welcomes) return;
    const { activation, ackedReportId } = this;
    const serverTimeMs = BigInt(this.clock.now());
    this.send({
      case: 'welcome',
      value: { sessionEpoch, serverTimeMs, ackedReportId, ...(activation && { activation }) },
    });
    this.onHello(hello);
    for (const id of this.#offers.keys()) this.#offer(id);
  }

  #offer(id: number): void {
    const offer = this.#offers.get(id);
    if (!offer || this.hellos.length === 0) return;
    const { operationId, epoch, kind } = offer;
    this.send({
      case: 'offer',
      value: { transactionId: BigInt(id), operationId, activationEpoch: BigInt(epoch), operation: { kind } },
    });
  }

  #onReport(report: Report): void {
    this.reports.push(report);
    if (!this.acknowledges) return;
    if (report.body.case === 'result') this.#offers.delete(Number(report.body.value.transactionId));
    this.send({ case: 'reportAck', value: { reportId: report.reportId } });
  }

  #onUrlRequest(request: UrlRequest): void {
    this.urlRequests.push(request);
    const answer = this.onUrl(request);
    if (answer) this.send({ case: 'urlAnswer', value: { requestId: request.requestId, ...answer } });
  }
}
