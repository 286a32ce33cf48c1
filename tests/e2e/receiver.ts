import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request, unparsed. */
export interface Arrival {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The names of the headers as received. */
  readonly headerNames: readonly string[];
  readonly bytes: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: callbacks of every shape
  readonly body: any;
}

/** The answer: a status, or a function that handles the response. */
export type Reply = number | ((response: ServerResponse) => void);

/** An endpoint for callbacks that stores the received bytes, and answers as a test specifies. */
export interface Receiver {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  close(): Promise<void>;
}

/** Calls `reply` for each arrival; `earlier` are the previous arrivals with the same webhook-id. */
export async function startReceiver(
  reply: (arrival: Arrival, earlier: readonly Arrival[]) => Reply | Promise<Reply>,
): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const bytes = Buffer.concat(parts);
    const arrival: Arrival = {
      atMs: Date.now(),
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      headerNames: request.rawHeaders.filter((_, i) => i % 2 === 0),
      bytes,
      body: JSON.parse(bytes.toString('utf8')),
    };
    const id = request.headers['webhook-id'];
    const earlier = arrivals.filter((a) => a.headers['webhook-id'] === id);
    arrivals.push(arrival);
    const answer = await reply(arrival, earlier);
    if (typeof answer === 'number') response.writeHead(answer).end();
    else answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?source=cloud`,
    arrivals,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
