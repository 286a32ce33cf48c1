import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Exchange } from './exchange.ts';

/** A received request and the state of its answer. */
export interface FileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The first requested byte; 0 without a range. */
  readonly from: number;
  /** Body of a PUT; otherwise empty. */
  readonly body: Buffer;
  /** Time of the request on the clock of `performance.now`; milliseconds. */
  readonly atMs: number;
  /** Number of sent bytes of the file. */
  sentBytes: number;
  closed: boolean;
}

/** The answer to one GET or PUT. */
export type FileAnswer =
  | 'well'
  /** The right size with wrong bytes. */
  | 'wrong-bytes'
  /** 200 with the whole file, even if a range was requested. */
  | 'whole'
  | { readonly status: number }
  /** 302, or 307 for a PUT, to another URL. */
  | 'elsewhere'
  /** No answer; the connection stays open. */
  | 'silent'
  /** The connection is cut after this many bytes of the answer. */
  | { readonly cutAfter: number }
  /** The rest of the file, or the answer to a PUT, is sent after `release`. */
  | { readonly holdAfter: number };

const pathPrefix = '/file/';

/** An HTTP server that serves one file with ranges and accepts uploads, with configurable faults. */
export class Files {
  readonly requests: FileRequest[] = [];
  /** Returns the answer to a request. `number`: count of requests with this method, from 1. */
  answer: (request: FileRequest, number: number) => FileAnswer = () => 'well';
  readonly content: Buffer;
  readonly #exchange: Exchange;
  readonly #held = new Set<() => void>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(exchange: Exchange, sizeBytes: number) {
    this.#exchange = exchange;
    this.content = Buffer.from(Array.from({ length: sizeBytes }, (_, i) => (i * 31 + (i >> 8)) % 251));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  /** Returns a new URL of the file. */
  address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${pathPrefix}${randomUUID()}`;
  }

  /** The file as an update's artifact. */
  artifact() {
    return {
      sizeBytes: BigInt(this.content.length),
      sha256: Uint8Array.from(createHash('sha256').update(this.content).digest()),
      ticket: Uint8Array.from(Buffer.from('ticket')),
    };
  }

  of(method: string): readonly FileRequest[] {
    return this.requests.filter((request) => request.method === method);
  }

  /** Continues held answers. Later requests are answered correctly. */
  release(): void {
    this.answer = () => 'well';
    for (const go of this.#held) go();
    this.#held.clear();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    try {
      for await (const part of incoming) parts.push(part as Buffer);
    } catch {
      return;
    }
    const { method = '', url = '', headers } = incoming;
    const request: FileRequest = {
      ...{ method, path: url, headers, body: Buffer.concat(parts), sentBytes: 0, closed: false },
      atMs: performance.now(),
      from: Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0),
    };
    response.on('close', () => {
      request.closed = true;
    });
    this.requests.push(request);
    const answer = this.answer(request, this.of(method).length);
    this.#exchange.note(`${method} ${headers.range ?? ''} is answered ${JSON.stringify(answer)}`);
    if (answer === 'silent') return;
    if (typeof answer === 'object' && 'status' in answer) response.writeHead(answer.status).end();
    else if (answer === 'elsewhere')
      response.writeHead(method === 'PUT' ? 307 : 302, { location: this.address() }).end();
    else if (method === 'PUT' && typeof answer === 'object' && 'holdAfter' in answer) {
      this.#held.add(() => response.writeHead(200).end());
    } else if (method === 'PUT') response.writeHead(200).end();
    else this.#sendFile(request, response, answer);
  }

  #sendFile(
    request: FileRequest,
    response: ServerResponse,
    answer: Exclude<FileAnswer, { status: number } | 'silent'>,
  ): void {
    const size = this.content.length;
    const content = answer === 'wrong-bytes' ? this.content.map((byte) => byte ^ 1) : this.content;
    const ranged = request.headers.range !== undefined && answer !== 'whole';
    if (ranged && request.from >= size) {
      response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
      return;
    }
    const bytes = ranged ? content.subarray(request.from) : content;
    response.writeHead(ranged ? 206 : 200, {
      'content-length': bytes.length,
      ...(ranged && { 'content-range': `bytes ${request.from}-${size - 1}/${size}` }),
    });
    const send = (part: Uint8Array, then: () => void) =>
      response.write(part, () => {
        request.sentBytes += part.length;
        then();
      });
    if (typeof answer === 'object' && 'cutAfter' in answer) {
      send(bytes.subarray(0, answer.cutAfter), () => setImmediate(() => response.destroy()));
    } else if (typeof answer === 'object') {
      send(bytes.subarray(0, answer.holdAfter), () => {});
      this.#held.add(() => {
        if (!response.destroyed) send(bytes.subarray(answer.holdAfter), () => response.end());
      });
    } else {
      send(bytes, () => response.end());
    }
  }
}
