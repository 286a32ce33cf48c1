import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type ConnectRequest,
  type ConnectResponse,
  type CurrentActivationSchema,
  HeadsetLinkService,
  type UrlAnswer,
  type UrlRequest,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Exchange } from '../exchange.ts';
import { until } from '../wait.ts';
import { Gate } from './gate.ts';
import { Link, type LinkOwner } from './link.ts';
import { Monitor } from './monitor.ts';
import { type Registration, readToken } from './token.ts';

const path = `/${HeadsetLinkService.typeName}/Connect`;
const unauthenticated = 16;
const forgivenSkewSeconds = 60;

type Answer = Partial<Pick<UrlAnswer, 'url' | 'expiresAtMs' | 'refusal' | 'retryAfterMs'>>;

/**
 * The cloud's side of the protocol. Automatically, it only acknowledges reports and answers requests, as configured.
 */
export class Cloud implements LinkOwner {
  readonly links: Link[] = [];
  readonly monitor = new Monitor();
  /** Offset of the cloud's clock from the machine's clock; milliseconds. */
  clockOffsetMs = 0;
  /** Whether each report is acknowledged at once. */
  acknowledges = true;
  /** Whether the cloud ends a stream after the headset has ended its side. */
  endsWithClient = true;
  /** The activation in `welcome`. */
  activation: MessageInitShape<typeof CurrentActivationSchema> | undefined;
  /** Returns the answer to a request for a URL; undefined: no answer. */
  onUrl: (request: UrlRequest, link: Link) => Answer | undefined = () => undefined;
  #taken = 0;
  #sessionEpoch = 0n;
  readonly #gates = new Set<Gate>();
  readonly #server: Server;

  readonly exchange: Exchange;
  readonly timeoutMs: number;
  readonly #registration: Registration;

  constructor(exchange: Exchange, timeoutMs: number, registration: Registration) {
    this.exchange = exchange;
    this.timeoutMs = timeoutMs;
    this.#registration = registration;
    this.#server = createServer((socket) => {
      const gate = new Gate(socket);
      this.#gates.add(gate);
      gate.on('close', () => this.#gates.delete(gate));
      gate.on('error', () => {});
      const session = http2.performServerHandshake(gate);
      session.on('error', () => {});
      session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
        this.#accept(stream, headers, gate),
      );
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  nowMs(): number {
    return Date.now() + this.clockOffsetMs;
  }

  /** Waits for the next stream of the headset. Each stream is returned once. */
  async next(extraMs = 0): Promise<Link> {
    const link = await until(
      'the headset to connect',
      this.timeoutMs + extraMs,
      () => this.links[this.#taken],
    );
    this.#taken += 1;
    return link;
  }

  /** Waits for the next stream with its hello. Rejects streams whose token has wrong times, like the platform. */
  async greeted(extraMs = 0): Promise<Link> {
    for (;;) {
      const link = await this.next(extraMs);
      if (!this.timesAreGood(link)) {
        this.refuse(link);
        continue;
      }
      await link.until('hello', () => link.messages.length > 0 || link.endedMs !== undefined);
      if (link.messages.length > 0 && !link.gate.destroyed) return link;
    }
  }

  /** Waits for the next session: its hello is received and its welcome is sent. */
  async online(extraMs = 0): Promise<Link> {
    const link = await this.greeted(extraMs);
    this.welcome(link);
    return link;
  }

  timesAreGood({ token: { iat, exp } }: Link): boolean {
    const now = this.nowMs() / 1000;
    return iat <= now + forgivenSkewSeconds && exp >= now - forgivenSkewSeconds;
  }

  /** Rejects a token, like the platform. */
  refuse(link: Link): void {
    link.end(unauthenticated, "the token's times are wrong", { 'x-server-time-ms': String(this.nowMs()) });
  }

  /** Sends welcome. `serverTimeMs`: the cloud's time in it; milliseconds since 1970. */
  welcome(link: Link, ackedReportId = 0n, serverTimeMs = this.nowMs()): void {
    this.#sessionEpoch += 1n;
    link.send({
      case: 'welcome',
      value: {
        ...{ sessionEpoch: this.#sessionEpoch, serverTimeMs: BigInt(serverTimeMs), ackedReportId },
        ...(this.activation && { activation: this.activation }),
      },
    });
  }

  received(link: Link, message: ConnectRequest): void {
    this.monitor.received(link, message);
    const { body } = message;
    if (body.case === 'report' && this.acknowledges) link.ack(body.value.reportId);
    if (body.case === 'urlRequest') {
      const answer = this.onUrl(body.value, link);
      if (answer) link.send({ case: 'urlAnswer', value: { requestId: body.value.requestId, ...answer } });
    }
  }

  sent({ body }: ConnectResponse): void {
    if (body.case === 'reportAck') this.monitor.acknowledged(body.value.reportId);
    if (body.case === 'welcome') this.monitor.acknowledged(body.value.ackedReportId);
  }

  async close(): Promise<void> {
    for (const gate of this.#gates) gate.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, gate: Gate): void {
    if (headers[':path'] !== path) {
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' },
        { endStream: true },
      );
      return;
    }
    const token = readToken(headers.authorization, this.#registration);
    this.exchange.note(`stream ${this.links.length + 1} is opened; token iat ${token.iat}, exp ${token.exp}`);
    const link = new Link(this, stream, gate, token);
    this.monitor.opened(link, this.links);
    this.links.push(link);
  }
}
