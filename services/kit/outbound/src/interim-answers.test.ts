import { once } from 'node:events';
import { get, Agent as HttpAgent } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net';
import { createServer as createTls } from 'node:tls';
import { testCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { type buildConnector, Pool } from 'undici';
import { addressRules, parseNetworks } from './address-rules.ts';
import { type ConnectorOptions, createConfiguredConnector, createConnector } from './connector.ts';
import { createFetch } from './fetch.ts';
import { createNodeAgents } from './node-agents.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A server that sends these pieces as its answer to each request, each piece in a separate write. */
async function server(pieces: readonly string[], tls = false): Promise<number> {
  const sockets = new Set<Socket>();
  const answer = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', async (data) => {
      if (!data.toString('latin1').includes('\r\n\r\n')) return;
      for (const piece of pieces) await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
    });
  };
  const listening: Server = tls ? createTls({ ...testCertificate }, answer) : createTcp(answer);
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  return (listening.address() as AddressInfo).port;
}

const reach: ConnectorOptions = { connectTimeoutMs: 60_000, ca: testCertificate.cert };
const checked = createConnector({
  ...reach,
  rules: addressRules(parseNetworks('127.0.0.0/8')),
  resolve: async () => ['127.0.0.1'],
});

async function post(
  origin: string,
  connect: buildConnector.connector = checked,
  times = 1,
): Promise<string[]> {
  const pool = new Pool(origin, { connect, connections: 1 });
  closers.push(() => pool.destroy());
  const answers: string[] = [];
  for (let i = 0; i < times; i++) {
    const { statusCode, body } = await pool.request({ method: 'POST', path: '/', body: '{}' });
    answers.push(`${statusCode} ${await body.text()}`);
  }
  return answers;
}

const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe('an unrequested 100 is accepted', () => {
  it.each<[string, string[]]>([
    ['in one piece with the answer', [interim + final]],
    ['before the answer', [interim, final]],
    ['byte by byte', [...(interim + final)]],
    ['twice', [interim + interim, final]],
    [
      'after other interim answers',
      [`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${interim}`, interim, final],
    ],
    ['with fields', [`HTTP/1.1 100 Continue\r\nDate: now\r\nX: HTTP/1.1 100 a\r\n\r\n${final}`]],
    ['without a phrase', [`HTTP/1.1 100 \r\n\r\n${final}`]],
    ['3,000 times', [interim.repeat(3000), final]],
  ])('%s', async (_, pieces) => {
    const port = await server(pieces);
    expect(await post(`http://127.0.0.1:${port}`, checked, 3)).toEqual(['200 ok', '200 ok', '200 ok']);
  });

  it.each([
    ['that others name', checked],
    ['that operators have configured', createConfiguredConnector(reach)],
  ])('over TLS, from hosts %s', async (_, connect) => {
    const port = await server([interim, final], true);
    expect(await post(`https://localhost:${port}`, connect, 2)).toEqual(['200 ok', '200 ok']);
  });

  it('by fetch', async () => {
    const port = await server([interim, final]);
    const answer = await createFetch(reach)(`http://127.0.0.1:${port}/`);
    expect(await answer.text()).toBe('ok');
  });

  it('by node:http, with and without an egress proxy between', async () => {
    const port = await server([interim, final]);
    const { httpAgent } = createNodeAgents({ ...reach, maxSockets: 1 });
    closers.push(() => httpAgent.destroy());
    for (const agent of [httpAgent, new HttpAgent()]) {
      const request = get({ host: '127.0.0.1', port, agent });
      const [response] = await once(request, 'response');
      expect(response.statusCode).toBe(200);
      response.resume();
    }
  });

  it('through an egress proxy that sends one as well', async () => {
    const port = await server(['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n']);
    const proxy = { origin: `http://127.0.0.1:${port}`, bypass: () => false };
    const connect = createConfiguredConnector({ ...reach, proxy });
    // The same server acts as the proxy and as the site behind it; the site's answer ends with the connection.
    const pool = new Pool('http://site.example', { connect });
    closers.push(() => pool.destroy());
    const { statusCode, body } = await pool.request({ method: 'GET', path: '/' });
    body.on('error', () => {}).destroy();
    expect(statusCode).toBe(200);
  });
});

it('a body that looks like an interim answer stays unchanged', async () => {
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${2 * interim.length}\r\n\r\n`;
  const port = await server([interim + head, interim, interim]);
  expect(await post(`http://127.0.0.1:${port}`, checked, 2)).toEqual(
    Array.from({ length: 2 }, () => `200 ${interim}${interim}`),
  );
});

it.each([
  ['a 101', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['an interim answer with too large a head', `HTTP/1.1 100 Continue\r\nX: ${'x'.repeat(70_000)}`],
])('%s is no answer', async (_, piece) => {
  const port = await server([piece]);
  await expect(post(`http://127.0.0.1:${port}`)).rejects.toThrow();
});
