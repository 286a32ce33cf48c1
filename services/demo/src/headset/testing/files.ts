import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface FileRequest {
  readonly method: string;
  readonly url: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
  /** Body of a PUT. */
  readonly body: Buffer;
  /** True if the connection of the response is closed. */
  closed: boolean;
}

/** A fault that the server injects into one response. */
export type ResponseFault =
  | { readonly status: number; readonly location?: string; readonly afterMs?: number }
  /** The request is never answered. */
  | { readonly silent: true }
  /** The server sends a 200 byte by byte, with this interval. */
  | { readonly dripMs: number }
  /** The connection is cut after this many bytes. */
  | { readonly cutAfter: number }
  /** The content has the right size but wrong bytes. */
  | { readonly wrong: true }
  /** The range is ignored. */
  | { readonly whole: true };

/** An HTTP server that serves one file with ranges and accepts uploads. */
export class FileServer {
  readonly content: Buffer;
  readonly requests: FileRequest[] = [];
  /** Faults of the next requests, in order. Later requests are served correctly. */
  readonly faults: ResponseFault[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(sizeBytes: number) {
    this.content = Buffer.from(Array.from({ length: sizeBytes }, (_, i) => (i * 31) % 251));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${path}`;
  }

  /** The file as an update's artifact. */
  artifact(ticket = 'ticket') {
    return {
      sizeBytes: BigInt(this.content.length),
      sha256: Uint8Array.from(createHash('sha256').update(this.content).digest()),
      ticket: Uint8Array.from(Buffer.from(ticket)),
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = '', url = '', headers } = request;
    const seen: FileRequest = {
      method,
      url,
      range: headers.range,
      authorization: headers.authorization,
      body: Buffer.concat(parts),
      closed: false,
    };
    this.requests.push(seen);
    response.on('close', () => {
      seen.closed = true;
    });
    const fault = this.faults.shift();
    if (fault && 'silent' in fault) return;
    if (fault && 'dripMs' in fault) {
      for (const byte of 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n') {
        await sleep(fault.dripMs);
        request.socket.write(byte);
      }
      return;
    }
    if (fault && 'status' in fault) {
      if (fault.afterMs !== undefined) await sleep(fault.afterMs);
      response.writeHead(fault.status, fault.location ? { location: fault.location } : {}).end();
      return;
    }
    if (method === 'PUT') {
      response.writeHead(200).end();
      return;
    }
    const content =
      fault && 'wrong' in fault ? this.content.map((byte) => byte ^ 1) : new Uint8Array(this.content);
    const start = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
    const ranged = headers.range !== undefined && !(fault && 'whole' in fault);
    if (ranged && start >= content.length) {
      response.writeHead(416).end();
      return;
    }
    const bytes = ranged ? content.subarray(start) : content;
    response.writeHead(ranged ? 206 : 200, {
      'content-length': bytes.length,
      ...(ranged && { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` }),
    });
    if (fault && 'cutAfter' in fault) {
      response.write(bytes.subarray(0, fault.cutAfter), () => setImmediate(() => response.destroy()));
    } else {
      response.end(bytes);
    }
  }
}
