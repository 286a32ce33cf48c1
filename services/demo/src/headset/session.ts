import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import {
  ConnectRequestSchema,
  type ConnectResponse,
  type GoAway,
  GoAwayReason,
  type Hello,
  type Welcome,
} from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Backoff } from './backoff.ts';
import type { CorrectedClock } from './clock.ts';
import type { Connection, Stream, StreamEnd } from './connection.ts';

export type RequestBody = NonNullable<MessageInitShape<typeof ConnectRequestSchema>['body']>;

interface SessionParts {
  readonly connection: Connection;
  readonly clock: CorrectedClock;
  readonly backoff: Backoff;
  /** Maximum wait for a welcome; milliseconds. */
  readonly welcomeMs: number;
  /** Signs a token for the next stream. */
  token(): string;
  hello(): Hello;
  /** Called for every message of the session, before the session handles it. */
  onMessage(message: ConnectResponse): void;
  /** Called when a session has begun. */
  onWelcome(welcome: Welcome): void;
  onEnd(end: Pick<StreamEnd, 'code' | 'details'>): void;
}

/** The headset's sessions, one stream after the other (protocol page, "Connecting" and "The session"). */
export class Session {
  /** `session_epoch` of the welcome; 0 while there is no session. */
  epoch = 0;
  readonly #parts: SessionParts;
  #stream: Stream | undefined;
  #isWanted = false;
  #reconnect: NodeJS.Timeout | undefined;
  #welcomeTimeout: NodeJS.Timeout | undefined;
  #onOver: () => void = () => {};

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** Connects, and reconnects after each end of a session until `close` or `stayAway`. */
  connect(): void {
    this.#isWanted = true;
    this.#schedule(0);
  }

  /** Drops the stream. The headset then reconnects. */
  disconnect(): void {
    this.#stream?.cancel();
  }

  /** Drops the stream and reconnects after `ms`. */
  stayAway(ms: number): void {
    this.#parts.backoff.replaceMinimum(ms);
    clearTimeout(this.#reconnect);
    this.#reconnect = undefined;
    if (this.#stream) this.#stream.cancel();
    else if (this.#isWanted) this.#schedule(ms);
  }

  /** Ends the stream, waits a short time for the cloud's end, and closes the connection. */
  async close(): Promise<void> {
    this.#isWanted = false;
    clearTimeout(this.#reconnect);
    clearTimeout(this.#welcomeTimeout);
    const stream = this.#stream;
    if (stream) {
      await new Promise<void>((resolve) => {
        const late = setTimeout(() => stream.cancel(), 500);
        this.#onOver = () => {
          clearTimeout(late);
          resolve();
        };
        stream.end();
      });
    }
    this.#parts.connection.close();
  }

  /** Sends a message if a stream is open. Calls `sent` when the message is passed to the network. */
  send(body: RequestBody, sent?: () => void): void {
    this.#stream?.send(create(ConnectRequestSchema, { body }), sent);
  }

  #schedule(ms: number): void {
    clearTimeout(this.#reconnect);
    this.#reconnect = setTimeout(() => this.#open(), this.#parts.backoff.wait(ms));
  }

  #open(): void {
    if (!this.#isWanted || this.#stream) return;
    const { connection, clock, welcomeMs, token, hello } = this.#parts;
    clock.opening();
    // Messages on this stream are ignored after the end of the session (rule B1).
    const stream = connection.open(token(), {
      received: (message) => void (this.#stream === stream && this.#receive(message)),
      ended: (end) => void (this.#stream === stream && this.#ended(end)),
    });
    this.#stream = stream;
    // Without this timeout, a connection that is accepted and then stays silent would never end.
    this.#welcomeTimeout = setTimeout(() => {
      connection.renew();
      stream.cancel();
    }, welcomeMs);
    this.send({ case: 'hello', value: hello() });
  }

  #receive(message: ConnectResponse): void {
    this.#parts.onMessage(message);
    const { body } = message;
    if (body.case === 'welcome') this.#onWelcome(body.value);
    else if (body.case === 'goAway') this.#onGoAway(body.value);
    else if (body.case === 'reportAck') this.#parts.backoff.reset();
  }

  #onWelcome(welcome: Welcome): void {
    clearTimeout(this.#welcomeTimeout);
    this.#parts.backoff.welcomed();
    this.epoch = Number(welcome.sessionEpoch);
    this.#parts.clock.correct(Number(welcome.serverTimeMs));
    this.#parts.onWelcome(welcome);
  }

  /** Ends the session. The server may end the stream later. */
  #onGoAway({ reason, retryAfterMs }: GoAway): void {
    // Draining is not a failure: reconnect as soon as the server allows.
    if (reason === GoAwayReason.DRAINING) this.#parts.backoff.reset();
    this.#stream?.end();
    this.#ended({ code: status.OK, details: 'go away', serverTimeMs: 0, retryAfterMs });
  }

  #ended(end: StreamEnd): void {
    const { backoff, clock, onEnd } = this.#parts;
    this.#stream = undefined;
    clearTimeout(this.#welcomeTimeout);
    this.epoch = 0;
    if (end.code === status.UNAUTHENTICATED && end.serverTimeMs > 0) clock.correct(end.serverTimeMs);
    backoff.raiseMinimum(end.retryAfterMs);
    onEnd(end);
    this.#onOver();
    if (this.#isWanted) this.#schedule(backoff.ended());
  }
}
