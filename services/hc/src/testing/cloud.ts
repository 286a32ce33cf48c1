import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request that arrived. */
export interface Asked {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An answer; a text body is sent unchanged. */
export interface Given {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** An API and its token endpoint on this machine, with fixed answers. */
export interface Cloud {
  readonly url: string;
  readonly asked: Asked[];
  /** Environment variables for hc to call it. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export const application = 'app-1';
export const secret = 'the secret: 100%';

/**
 * `answer` gets the call below the application's path, such as `GET /events?limit=100`; undefined: it never answers.
 * `token`: the answer of the token endpoint, whose path begins with `/token`; undefined: it never answers.
 */
export async function openCloud(
  answer: (call: string, asked: Asked) => Given | undefined | Promise<Given | undefined>,
  token: (asked: Asked) => Given | undefined = () => ({
    body: { access_token: 'a token', expires_in: 3600 },
  }),
): Promise<Cloud> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const one: Asked = {
      ...{ method: request.method ?? '', url: request.url ?? '', headers: request.headers },
      body: await text(request),
    };
    asked.push(one);
    const base = `/v1/applications/${application}`;
    const given = one.url.startsWith('/token')
      ? token(one)
      : await answer(`${one.method} ${one.url.replace(base, '')}`, one);
    if (given) reply(response, given);
  });
  const url = await listening(server);
  return {
    url,
    asked,
    env: {
      HC_API_URL: url,
      HC_TOKEN_URL: `${url}/token`,
      HC_APPLICATION: application,
      HC_CLIENT_ID: 'client-1',
      HC_CLIENT_SECRET: secret,
    },
    close: () => closed(server),
  };
}

function reply(response: ServerResponse, { status = 200, headers = {}, body = {} }: Given): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'r-1', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
