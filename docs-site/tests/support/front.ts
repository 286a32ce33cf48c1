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

/** One request that came to a front. */
export interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Asks the site behind; nobody is asked where there is none. */
  ask(headers: IncomingHttpHeaders): Promise<IncomingMessage | undefined>;
}

/** What becomes of a request. */
export type Answer = (asked: Asked) => void | Promise<void>;

/** The connection ends without an answer, as where the network is down; browsers may try once more by themselves. */
export const fails: Answer = ({ response }) => void response.destroy();

/** The connection ends in the middle of the answer; no browser tries this again by itself. */
export const breaksOff: Answer = ({ response }) => {
  response.writeHead(200, {
    ...uncached,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': 1000,
  });
  response.write('half', () => response.destroy());
};

/** As the site answers, but kept by no cache: what is asked for again comes here again. */
export const passes: Answer = async ({ request: asked, response, ask }) => {
  const answer = await ask(asked.headers);
  if (!answer) return void response.writeHead(404).end();
  const { connection: _, 'keep-alive': __, ...headers } = answer.headers;
  response.writeHead(answer.statusCode ?? 502, { ...headers, ...uncached });
  answer.once('error', () => response.destroy());
  answer.pipe(response);
};

/** This instead of the site's answer. */
export const replies =
  (body: string, { status = 200, type = 'text/plain; charset=utf-8' } = {}): Answer =>
  ({ response }) =>
    void response.writeHead(status, { ...uncached, 'content-type': type }).end(body);

/** The site's answer, a JSON document, changed on its way. */
export const changes =
  <T>(change: (document: T) => void): Answer =>
  async (asked) => {
    const { 'accept-encoding': _, ...headers } = asked.request.headers;
    const answer = await asked.ask({ ...headers, 'accept-encoding': 'identity' });
    if (!answer) throw new Error('There is no site behind this front.');
    const document = (await json(answer)) as T;
    change(document);
    return replies(JSON.stringify(document), { type: answer.headers['content-type'] ?? '' })(asked);
  };

const uncached = { 'cache-control': 'no-store' };

export interface Held {
  readonly path: RegExp;
  /** The first request has come. */
  readonly asked: Promise<void>;
  /** Lets this one and all later ones go; ends when all that were held have their answer. */
  release(): Promise<void>;
}

export interface Front {
  readonly url: string;
  /** Requests whose path matches get this answer, until the returned function is called; the latest rule counts. */
  on(path: RegExp, answer: Answer): () => void;
  /** Requests whose path matches wait until they are released, and then get this answer. */
  hold(path: RegExp, answer?: Answer): Held;
  stop(): Promise<void>;
}

/**
 * A server of one check's own in front of the site (or of nothing), which fails, holds or changes answers by rule. A
 * rule counts for every request from the moment at which it is made. The browser's own interception (`page.route`)
 * does not: it exchanges the loader of the page that is open some time after it has said that it is on, and what the
 * page asks for meanwhile passes by it.
 */
export async function startFront(target?: string): Promise<Front> {
  const agent = new Agent({ keepAlive: true });
  const rules: { readonly path: RegExp; readonly answer: Answer }[] = [];

  const server = createServer((asked, response) => {
    const ask = async (headers: IncomingHttpHeaders) => {
      if (!target) return undefined;
      const inner = request(target + asked.url, { method: asked.method ?? 'GET', headers, agent });
      response.once('close', () => inner.destroy());
      inner.end();
      const [answer] = (await once(inner, 'response')) as [IncomingMessage];
      return answer;
    };
    const { pathname } = new URL(asked.url ?? '/', 'http://front');
    const answer = rules.findLast(({ path }) => path.test(pathname))?.answer ?? passes;
    // A reader who leaves takes the request along: nobody is there to answer.
    Promise.resolve(answer({ request: asked, response, ask })).catch(() => response.destroy());
  });

  const on: Front['on'] = (path, answer) => {
    const rule = { path, answer };
    rules.push(rule);
    return () => {
      const place = rules.indexOf(rule);
      if (place >= 0) rules.splice(place, 1);
    };
  };

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A check that has run out of time does not keep the process.
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    on,
    hold(path, answer = passes) {
      const first = Promise.withResolvers<void>();
      const free = Promise.withResolvers<void>();
      const ended: Promise<unknown>[] = [];
      on(path, async (asked) => {
        // Without an error where the reader leaves first.
        ended.push(new Promise((done) => asked.response.once('close', done)));
        first.resolve();
        await free.promise;
        return answer(asked);
      });
      return {
        path,
        asked: first.promise,
        async release() {
          free.resolve();
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
