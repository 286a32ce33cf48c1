import type { ServerHttp2Stream } from 'node:http2';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  type Hello,
  type OperationSchema,
  type Report,
  type UrlRequest,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Exchange } from '../exchange.ts';
import { until } from '../wait.ts';
import { framed, Unframer } from './framing.ts';
import type { Gate } from './gate.ts';
import type { Token } from './token.ts';

export type OperationKind = NonNullable<MessageInitShape<typeof OperationSchema>['kind']>;
type ResponseBody = NonNullable<MessageInitShape<typeof ConnectResponseSchema>['body']>;
type ReportCase = NonNullable<Report['body']['case']>;
type ReportValue<K extends ReportCase> = Extract<Report['body'], { case: K }>['value'];
/** A report with a body of type K. */
export type ReportOf<K extends ReportCase> = { readonly report: Report; readonly value: ReportValue<K> };

const invalidArgument = 3;

/** The parts of the cloud that a link uses. */
export interface LinkOwner {
  readonly exchange: Exchange;
  readonly timeoutMs: number;
  /** Called for every received message. */
  received(link: Link, message: ConnectRequest): void;
  /** Called for every message of the cloud, just before it is sent. */
  sent(message: ConnectResponse): void;
  readonly endsWithClient: boolean;
}

/** One stream of the headset, from the cloud's side. */
export class Link {
  readonly messages: ConnectRequest[] = [];
  readonly openedMs = performance.now();
  /** Time at which the headset ended its side or the stream failed; undefined while the stream is open. */
  endedMs: number | undefined;
  /** The highest report id that was acknowledged on this stream. */
  ackedReportId = 0n;
  /** Ids of URL requests that were answered on this stream. */
  readonly answeredUrls = new Set<bigint>();
  #over = false;
  readonly #owner: LinkOwner;
  readonly #stream: ServerHttp2Stream;

  readonly gate: Gate;
  readonly token: Token;

  constructor(owner: LinkOwner, stream: ServerHttp2Stream, gate: Gate, token: Token) {
    this.gate = gate;
    this.token = token;
    this.#owner = owner;
    this.#stream = stream;
    const unframer = new Unframer();
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
    stream.on('data', (data: Buffer) => {
      for (const bytes of unframer.push(data)) this.#receive(bytes);
    });
    stream.on('end', () => {
      this.#ended('the headset ended its side of the stream');
      if (owner.endsWithClient) this.end();
    });
    stream.on('close', () => this.#ended('the stream is closed'));
    stream.on('error', () => {});
  }

  get hello(): Hello {
    const body = this.messages[0]?.body;
    if (body?.case !== 'hello') throw new Error('no hello yet');
    return body.value;
  }

  get readies(): readonly bigint[] {
    return this.messages.flatMap(({ body }) => (body.case === 'ready' ? [body.value.transactionId] : []));
  }

  /** Reports of this stream in the order of arrival. */
  get reports(): readonly Report[] {
    return this.messages.flatMap(({ body }) => (body.case === 'report' ? [body.value] : []));
  }

  get urlRequests(): readonly UrlRequest[] {
    return this.messages.flatMap(({ body }) => (body.case === 'urlRequest' ? [body.value] : []));
  }

  reportsOf<K extends ReportCase>(kind: K): readonly ReportOf<K>[] {
    return this.reports.flatMap((report) =>
      report.body.case === kind ? [{ report, value: report.body.value as ReportValue<K> }] : [],
    );
  }

  // Messages of the cloud.

  send(body: ResponseBody): void {
    const message = create(ConnectResponseSchema, { body });
    this.#owner.exchange.message('←', ConnectResponseSchema, message);
    if (body.case === 'reportAck') this.ackedReportId = BigInt(body.value.reportId ?? 0);
    if (body.case === 'urlAnswer') this.answeredUrls.add(BigInt(body.value.requestId ?? 0));
    this.#owner.sent(message);
    this.#write(toBinary(ConnectResponseSchema, message));
  }

  /** Sends a message with content that the .proto file does not define. `what`: description for the exchange. */
  sendUnknown(message: ConnectResponse, what: string): void {
    this.#owner.exchange.note(`sends ${what}`);
    this.#write(toBinary(ConnectResponseSchema, message));
  }

  /** Sends an HTTP/2 ping and resolves when it is answered. */
  async ping(): Promise<void> {
    let answered = false;
    this.#owner.exchange.note('sends a ping');
    this.#stream.session?.ping((error) => {
      answered = !error;
    });
    await this.until('the answer to a ping', () => answered);
  }

  offer(id: bigint, kind: OperationKind, more: { epoch?: bigint; attempt?: number } = {}): void {
    this.send({
      case: 'offer',
      value: {
        ...{ transactionId: id, activationEpoch: more.epoch ?? 1n, attempt: more.attempt ?? 0 },
        ...{ operationId: `conformance-${kind.case}`, createdAtMs: BigInt(Date.now()), operation: { kind } },
      },
    });
  }

  start(id: bigint): void {
    this.send({ case: 'start', value: { transactionId: id } });
  }

  drop(id: bigint): void {
    this.send({ case: 'drop', value: { transactionId: id, reason: 'The transaction was canceled.' } });
  }

  revoke(id: bigint): void {
    this.send({ case: 'revoke', value: { transactionId: id, reason: 'The transaction was canceled.' } });
  }

  ack(reportId: bigint): void {
    this.send({ case: 'reportAck', value: { reportId } });
  }

  /** Ends the stream with a gRPC status. */
  end(code = 0, message = '', trailers: Record<string, string> = {}): void {
    if (this.#over) return;
    this.#over = true;
    if (code !== 0) this.#owner.exchange.note(`ends the stream: status ${code}, ${JSON.stringify(trailers)}`);
    const all = { 'grpc-status': String(code), 'grpc-message': encodeURIComponent(message), ...trailers };
    this.#stream.on('wantTrailers', () => this.#stream.sendTrailers(all));
    this.#stream.end();
  }

  /** Cuts the connection without a message. */
  cut(): void {
    this.#owner.exchange.note('cuts the connection');
    this.#over = true;
    this.gate.cut();
  }

  // Waits for messages of the headset.

  /** Waits for a condition on this stream. */
  until<T>(what: string, probe: () => T | undefined | null | false, extraMs = 0): Promise<T> {
    return until(what, this.#owner.timeoutMs + extraMs, probe);
  }

  /** Waits for the `count`-th ready of a transaction. */
  async ready(id: bigint, count = 1): Promise<void> {
    const nth = count === 1 ? 'a ready' : `ready number ${count}`;
    await this.until(`${nth} for ${id}`, () => this.readies.filter((ready) => ready === id).length >= count);
  }

  /** Waits for the result of a transaction. With `after`: a result whose report has a higher id. */
  result(id: bigint, after = 0n): Promise<ReportOf<'result'>> {
    return this.until(`the result of ${id}`, () =>
      this.reportsOf('result').find(
        ({ report, value }) => value.transactionId === id && report.reportId > after,
      ),
    );
  }

  revoked(id: bigint, after = 0n): Promise<ReportOf<'revoked'>> {
    return this.until(`a report that ${id} is revoked`, () =>
      this.reportsOf('revoked').find(
        ({ report, value }) => value.transactionId === id && report.reportId > after,
      ),
    );
  }

  /** Offers a transaction, lets it start, and waits for its result. */
  async run(id: bigint, kind: OperationKind, more?: { epoch?: bigint }): Promise<ReportOf<'result'>> {
    const readies = this.readies.filter((ready) => ready === id).length;
    this.offer(id, kind, more);
    await this.ready(id, readies + 1);
    const last = this.reports.at(-1)?.reportId ?? 0n;
    this.start(id);
    return await this.result(id, last);
  }

  #receive(bytes: Buffer): void {
    let message: ConnectRequest;
    try {
      message = fromBinary(ConnectRequestSchema, bytes);
    } catch (error) {
      this.#owner.exchange.note(`cannot read a message: ${(error as Error).message}`);
      this.end(invalidArgument, 'unreadable');
      return;
    }
    this.#owner.exchange.message('→', ConnectRequestSchema, message);
    this.messages.push(message);
    this.#owner.received(this, message);
  }

  #write(bytes: Uint8Array): void {
    if (!this.#over && this.#stream.writable) this.#stream.write(framed(bytes));
  }

  #ended(how: string): void {
    if (this.endedMs !== undefined) return;
    this.endedMs = performance.now();
    this.#owner.exchange.note(how);
  }
}
