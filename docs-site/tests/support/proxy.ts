import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** One request to the proxy. */
export interface ProxiedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Forwards the request to the site. Returns undefined if the proxy has no site. */
  forward(headers: IncomingHttpHeaders): Promise<IncomingMessage | undefined>;
}

/** Handles a request. */
export type Answer = (proxied: ProxiedRequest) => void | Promise<void>;

/** Closes the connection without a response, as if the network were down. Browsers may retry once. */
export const fails: Answer = ({ response }) => void response.destroy();

/** Closes the connection in the middle of the response. Browsers do not retry. */
export const breaksOff: Answer = ({ response }) => {
  response.writeHead(200, {
    ...uncached,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': 1000,
  });
  response.write('half', () => response.destroy());
};

/** Forwards the site's response, without caching, so that repeated requests reach the proxy. */
export const passes: Answer = async ({ request: incoming, response, forward }) => {
  const answer = await forward(incoming.headers);
  if (!answer) return void response.writeHead(404).end();
  const { connection: _, 'keep-alive': __, ...headers } = answer.headers;
  response.writeHead(answer.statusCode ?? 502, { ...headers, ...uncached });
  answer.once('error', () => response.destroy());
  answer.pipe(response);
};

/** Sends this body instead of the site's response. */
export const replies =
  (body: string, { status = 200, type = 'text/plain; charset=utf-8' } = {}): Answer =>
  ({ response }) =>
    void response.writeHead(status, { ...uncached, 'content-type': type }).end(body);

/** Changes the site's response, which is a JSON document. */
export const changes =
  <T>(change: (document: T) => void): Answer =>
  async (proxied) => {
    const { 'accept-encoding': _, ...headers } = proxied.request.headers;
    const answer = await proxied.forward({ ...headers, 'accept-encoding': 'identity' });
    if (!answer) throw new Error('The proxy has no site.');
    const document = (await json(answer)) as T;
    change(document);
    return replies(JSON.stringify(document), { type: answer.headers['content-type'] ?? '' })(proxied);
  };

const uncached = { 'cache-control': 'no-store' };

export interface Held {
  readonly path: RegExp;
  /** Resolves on the first request. */
  readonly requested: Promise<void>;
  /** Lets this and all later requests continue. Resolves when all held requests have a response. */
  release(): Promise<void>;
}

export interface TestProxy {
  readonly url: string;
  /** Requests with a matching path get this answer until the returned function is called. The latest rule applies. */
  on(path: RegExp, answer: Answer): () => void;
  /** Requests with a matching path wait until they are released, and then get this answer. */
  hold(path: RegExp, answer?: Answer): Held;
  stop(): Promise<void>;
}

/**
 * Starts a proxy for one check that fails, holds or changes responses by rule. `target`: the site; optional. A rule
 * applies to all requests after it is added. `page.route` of Playwright does not: it takes effect some time after its
 * promise has resolved, and misses requests of the page until then.
 */
export async function startProxy(target?: string): Promise<TestProxy> {
  const agent = new Agent({ keepAlive: true });
  const rules: { readonly path: RegExp; readonly answer: Answer }[] = [];

  const server = createServer((incoming, response) => {
    const forward = async (headers: IncomingHttpHeaders) => {
      if (!target) return undefined;
      const inner = request(target + incoming.url, { method: incoming.method ?? 'GET', headers, agent });
      response.once('close', () => inner.destroy());
      inner.end();
      const [answer] = (await once(inner, 'response')) as [IncomingMessage];
      return answer;
    };
    const { pathname } = new URL(incoming.url ?? '/', 'http://proxy');
    const answer = rules.findLast(({ path }) => path.test(pathname))?.answer ?? passes;
    // The browser cancels requests when it leaves the page.
    Promise.resolve(answer({ request: incoming, response, forward })).catch(() => response.destroy());
  });

  const on: TestProxy['on'] = (path, answer) => {
    const rule = { path, answer };
    rules.push(rule);
    return () => {
      const index = rules.indexOf(rule);
      if (index >= 0) rules.splice(index, 1);
    };
  };

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A check that has timed out must not keep the process running.
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    on,
    hold(path, answer = passes) {
      const first = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const ended: Promise<unknown>[] = [];
      on(path, async (proxied) => {
        // 'close' also happens if the browser cancels the request.
        ended.push(new Promise((done) => proxied.response.once('close', done)));
        first.resolve();
        await released.promise;
        return answer(proxied);
      });
      return {
        path,
        requested: first.promise,
        async release() {
          released.resolve();
          await Promise.all(ended);
        },
      };
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      agent.destroy();
    },
  };
}
