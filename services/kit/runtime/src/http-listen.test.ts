import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { closeNow, closeWithin, listenOn } from './http-listen.ts';
import { createFakeTime } from './testing/fake-time.ts';

let server: Server;
let port: number;
beforeEach(async () => {
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { connection: 'close' }).end(`${request.url} ${request.headers.host}`);
  };
  server = createServer(answer);
  server.on('checkContinue', answer);
  port = await listenOn(server, { host: '127.0.0.1', port: 0 }, 'X_LISTEN');
});
afterEach(() => closeNow(server));

/** The whole answer to a request with this target. */
async function ask(target: string, headers = 'Host: other.example\r\n'): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`GET ${target} HTTP/1.1\r\n${headers}\r\n`);
  return text(socket);
}

test.each([
  ['http://a.example:8080/x/y?z=1', '/x/y?z=1 a.example:8080'],
  ['HTTPS://a.example/%2e%2e/x//y', '/%2e%2e/x//y a.example'],
  ['http://a.example', '/ a.example'],
  ['http://a.example?x=1', '/?x=1 a.example'],
  ['http://[::1]:1/x', '/x [::1]:1'],
])('the absolute-form target %s is read as %s', async (target, read) => {
  expect(await ask(target)).toMatch(new RegExp(`\\r\\n\\r\\n[^]*${RegExp.escape(read)}\\r\\n`));
});

test.each(['/x?y=http://a.example/', '//a.example/x', '/http://a.example/x'])(
  'the target %s stays as it is',
  async (target) => {
    expect(await ask(target)).toContain(`${target} other.example`);
  },
);

test('the same for a request that waits for 100 Continue', async () => {
  const headers = 'Host: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n';
  expect(await ask('http://a.example/x', headers)).toContain('/x a.example');
});

test('a request without Host is rejected also with an absolute-form target', async () => {
  expect(await ask('http://a.example/x', '')).toMatch(/^HTTP\/1.1 400 /);
});

describe('closeWithin', () => {
  /** A server with one open request: its answer as the client and as the server see it. */
  async function withOpenRequest() {
    const opened = Promise.withResolvers<ServerResponse>();
    const busy = createServer((_request, response) => opened.resolve(response));
    const url = `http://127.0.0.1:${await listenOn(busy, { host: '127.0.0.1', port: 0 }, 'X_LISTEN')}`;
    const answer = fetch(url);
    return { busy, url, answer, response: await opened.promise };
  }

  test('answers an open request, and accepts no connection', async () => {
    const { busy, url, answer, response } = await withOpenRequest();
    const stopped = closeWithin(busy, 600_000);
    await expect(fetch(url)).rejects.toThrow();
    response.end('late');
    expect(await (await answer).text()).toBe('late');
    await stopped;
  });

  test('closes a request that stays open after its time', async () => {
    const { busy, answer } = await withOpenRequest();
    const time = createFakeTime();
    const stopped = closeWithin(busy, 1000, time);
    await time.advance(1000);
    await expect(answer).rejects.toThrow();
    await stopped;
  });
});
