import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addressText } from '@headset-cloud/runtime/config.ts';
import { verifyCallback } from './verify.ts';

/** One received callback, in the order of arrival. */
export interface Received {
  /** RFC 3339 UTC. */
  readonly receivedAt: string;
  readonly webhookId: string;
  readonly verified: boolean;
  /** True if an earlier arrival with this id was accepted (answered with 2xx). */
  readonly duplicate: boolean;
  /** The status of the answer; 0: no answer was sent. */
  readonly answered: number;
  readonly path: string;
  readonly applicationId: string;
  readonly traceparent: string;
  /** The unchanged UTF-8 text of the body. */
  readonly rawBody: string;
  /** The parsed body; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: callbacks of every shape
  readonly body: any;
}

/** The answer to a verified callback; `hang`: no answer. */
export type Answer = { status: number; headers?: Record<string, string>; body?: string } | 'hang';

export interface IntegratorOptions {
  /** Default 0: the system chooses a port. */
  readonly port?: number;
  readonly host?: string;
  readonly keys?: readonly string[];
  /** File of keys, one per line. It is read again if a signature does not match. */
  readonly keyFile?: string;
  /** File to which each arrival is appended as a JSON line before it is answered. */
  readonly logFile?: string;
  /** Default: 204. */
  readonly answer?: (
    callback: Pick<Received, 'webhookId' | 'path' | 'body' | 'rawBody'>,
  ) => Answer | Promise<Answer>;
  readonly onArrival?: (arrival: Received) => void;
  /** Number of arrivals to keep in memory; default 10,000. The log file has all of them. */
  readonly keep?: number;
}

export interface IntegratorServer {
  readonly port: number;
  /** http://host:port, without a path. */
  readonly origin: string;
  /** URL to register in an application's settings. */
  readonly url: string;
  /** Accepted authentication keys, in addition to the keys of `keyFile`; keys can be added at any time. */
  readonly keys: string[];
  /** The newest arrivals of this run. */
  readonly arrivals: readonly Received[];
  /** The newest verified and accepted callbacks, each id once. An application acts on these. */
  readonly received: readonly Received[];
  close(): Promise<void>;
}

const bodyLimitBytes = 10 * 1024 * 1024;

/**
 * Number of remembered ids of accepted callbacks. The platform repeats a callback for up to 72 hours: in production,
 * store the ids in a database.
 */
const rememberedIds = 100_000;

/** Starts the sample integrator's server. It accepts signed callbacks on every path. */
export async function startIntegrator(options: IntegratorOptions = {}): Promise<IntegratorServer> {
  const host = options.host ?? '127.0.0.1';
  const log: FileHandle | undefined = options.logFile ? await open(options.logFile, 'a') : undefined;
  const arrivals: Received[] = [];
  const received: Received[] = [];
  const keep = options.keep ?? 10_000;
  const acceptedIds = new Set<string>();
  let lastWrite: Promise<unknown> = Promise.resolve();
  const keys = [...(options.keys ?? [])];
  let keysOfFile = readKeys(options.keyFile);

  const verify = (request: IncomingMessage, rawBody: Buffer): boolean => {
    const callback = { headers: request.headers, rawBody };
    if (verifyCallback(callback, [...keys, ...keysOfFile])) return true;
    if (!options.keyFile) return false;
    keysOfFile = readKeys(options.keyFile);
    return verifyCallback(callback, keysOfFile);
  };

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const receivedAt = new Date().toISOString();
    const bytes = await readBody(request);
    const verified = verify(request, bytes);
    const rawBody = bytes.toString('utf8');
    const seen = {
      webhookId: header(request, 'webhook-id'),
      path: request.url ?? '/',
      body: parse(rawBody),
      rawBody,
    };
    const answer: Answer = verified ? ((await options.answer?.(seen)) ?? { status: 204 }) : { status: 401 };
    const answered = answer === 'hang' ? 0 : answer.status;
    const isAccepted = verified && answered >= 200 && answered < 300;
    /** Writes the callback to the log, then remembers its id: after a failed write, the next attempt is not ignored. */
    const store = async (): Promise<void> => {
      const duplicate = acceptedIds.has(seen.webhookId);
      const arrival: Received = {
        receivedAt,
        verified,
        duplicate,
        answered,
        applicationId: header(request, 'applicationid'),
        traceparent: header(request, 'traceparent'),
        ...seen,
      };
      await log?.appendFile(`${JSON.stringify(arrival)}\n`);
      add(arrivals, arrival, keep);
      if (isAccepted && !duplicate) {
        acceptedIds.add(seen.webhookId);
        if (acceptedIds.size > rememberedIds) acceptedIds.delete(acceptedIds.values().next().value ?? '');
        add(received, arrival, keep);
      }
      options.onArrival?.(arrival);
    };
    // Store callbacks one at a time, so that the second of two concurrent attempts is a duplicate. Store before the
    // answer: the platform never repeats a callback that was answered with 2xx.
    const write = lastWrite.then(store);
    lastWrite = write.catch(() => {});
    await write;
    if (answer === 'hang') return;
    response.writeHead(answer.status, answer.headers).end(answer.body);
  };

  const server = createServer((request, response) => {
    receive(request, response).catch((error: Error) => {
      if (!response.headersSent) response.writeHead(error instanceof RangeError ? 413 : 500);
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const origin = `http://${addressText({ host, port })}`;
  return {
    port,
    origin,
    url: `${origin}/callbacks`,
    keys,
    arrivals,
    received,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await log?.close();
    },
  };
}

/** Appends an item and removes the oldest one if there are more than `limit`. */
function add<T>(items: T[], item: T, limit: number): void {
  items.push(item);
  if (items.length > limit) items.shift();
}

function readKeys(file: string | undefined): string[] {
  if (!file) return [];
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.map((line) => line.trim()).filter((line) => line !== '');
  } catch (error) {
    // The key may be issued after the start of the server.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += (part as Buffer).length;
    if (length > bodyLimitBytes) throw new RangeError('body too large');
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts);
}
