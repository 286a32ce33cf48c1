import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { ListenAddress } from '@headset-cloud/runtime/config.ts';
import { closeWithin, listenOn, portOf } from '@headset-cloud/runtime/http-listen.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import { BodyMemory, smallBodyBytes } from '@headset-cloud/runtime/listeners/body-memory.ts';
import {
  defaultListeners,
  type Listeners,
  listenerTimes,
} from '@headset-cloud/runtime/listeners/http-listener.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { currentTraceparent, inSpan, SpanKind } from '@headset-cloud/runtime/telemetry.ts';
import type { Receipt, Receiver } from './receive.ts';

/** How long open requests may take to finish if the caller gives no time; milliseconds. */
const defaultDrainMs = 4000;
const traceparentForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const path = /^\/webhooks\/sora\/([A-Za-z0-9][A-Za-z0-9._-]{0,63})$/;

/** A body of unknown size reserves its memory in steps of this size; bytes. */
const reservationStepBytes = 64 * 1024;

/** An error response with its headers. */
class Refusal extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

export interface WebhookServer extends Component {
  beginDrain(): void;
  port(): number;
}

/** Listener for Sora's event webhooks: POST /webhooks/sora/{endpointId}, with the endpoint's bearer token. */
export function createWebhookServer(options: {
  listen: ListenAddress;
  receiver: Receiver;
  maxBytes: number;
  logger: Logger;
  onAnswer: (outcome: Receipt | 'refused') => void;
  listeners?: Listeners;
  time?: Time;
}): WebhookServer {
  const { receiver, logger, onAnswer, listeners = defaultListeners, time = systemTime } = options;
  const bodies = new BodyMemory();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reservations: (() => void)[] = [];
    try {
      const endpointId = path.exec((request.url ?? '').split('?', 1)[0] ?? '')?.[1];
      if (!endpointId) throw new Refusal(404, 'Not found.');
      if (request.method !== 'POST') throw new Refusal(405, 'Only POST.', { allow: 'POST' });
      const token = /^Bearer ([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
      if (!(await receiver.authenticate(endpointId, token))) {
        throw new Refusal(401, 'The bearer token is missing or wrong.', { 'www-authenticate': 'Bearer' });
      }
      const body = await readBody(request, options.maxBytes, (bytes) =>
        reservations.push(take(endpointId, bytes)),
      );
      const outcome = await receiver.receive(endpointId, body, currentTraceparent() || traceOf(request));
      if (outcome === 'malformed') throw new Refusal(400, 'The body is not an event of Sora.');
      onAnswer(outcome);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    } catch (error) {
      onAnswer('refused');
      if (error instanceof Refusal) {
        refuse(request, response, error.status, error.message, error.headers);
      } else {
        logger.error({ err: error }, 'webhook not stored');
        const headers = { 'retry-after': '2' };
        refuse(request, response, 503, 'The event could not be stored. Try again.', headers);
      }
    } finally {
      for (const release of reservations) release();
    }
  }

  function take(endpointId: string, bytes: number): () => void {
    try {
      return bodies.take(endpointId, bytes);
    } catch {
      throw new Refusal(503, 'Too many large bodies at once.', { 'retry-after': '1' });
    }
  }

  /**
   * Sends an error response at once, but ends it only after the rest of the body was read and discarded. Otherwise
   * the connection would be reset, and the sender might not receive the response. Discards at most `maxBytes` within
   * the time limit of a request; then the connection is closed.
   */
  function refuse(
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    message: string,
    headers: Record<string, string>,
  ): void {
    if (response.destroyed) return;
    const body = JSON.stringify({ message });
    const length = { 'content-length': Buffer.byteLength(body) };
    response.writeHead(status, { 'content-type': 'application/json', ...length, ...headers });
    response.write(body);
    let left = options.maxBytes;
    request.on('data', (part: Buffer) => {
      left -= part.length;
      if (left < 0) request.destroy();
    });
    finished(request, () => response.end());
    request.resume();
  }

  let server: Server | undefined;
  let closesConnections = false;
  return {
    name: "Sora's webhooks",
    port: () => portOf(server),
    async start() {
      const listening = createServer({ ...listenerTimes }, (request, response) => {
        if (closesConnections) response.setHeader('connection', 'close');
        const span = { kind: SpanKind.SERVER, parent: traceOf(request) };
        void inSpan('POST /webhooks/sora/{endpointId}', span, () => handle(request, response));
      });
      listeners.guard(listening, 'webhooks');
      await listenOn(listening, options.listen, 'COMMUNICATION_LISTEN');
      server = listening;
    },
    beginDrain() {
      // A client with a keep-alive connection would otherwise continue to use this process.
      closesConnections = true;
    },
    async stop(forMs = defaultDrainMs) {
      closesConnections = true;
      await closeWithin(server, forMs, time);
      server = undefined;
    },
  };
}

/** The trace that the sender names (W3C); empty to begin a new trace. */
function traceOf({ headers: { traceparent } }: IncomingMessage): string {
  return typeof traceparent === 'string' && traceparentForm.test(traceparent) ? traceparent : '';
}

/**
 * Reads a body into memory. Calls `take` before it keeps more bytes: once if the size is announced, otherwise in steps.
 * Throws a Refusal if the body is too large or incomplete.
 */
async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  take: (bytes: number) => void,
): Promise<Buffer> {
  const announced = request.headers['content-length'];
  let reserved = announced === undefined ? smallBodyBytes : Math.min(Number(announced), maxBytes);
  take(reserved);
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    // By default the iterator would destroy the request after an error, and the response could not be sent.
    for await (const part of request.iterator({ destroyOnReturn: false })) {
      bytes += (part as Buffer).length;
      if (bytes > maxBytes) {
        throw new Refusal(413, `The body is larger than ${maxBytes} bytes.`, { connection: 'close' });
      }
      for (; reserved < bytes; reserved += reservationStepBytes) take(reservationStepBytes);
      parts.push(part as Buffer);
    }
  } catch (error) {
    // Any other error of the stream comes from the sender's connection.
    throw error instanceof Refusal ? error : new Refusal(400, 'The body did not arrive whole.');
  }
  return Buffer.concat(parts);
}
