import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server as TcpServer } from 'node:net';
import { addressRules, parseNetworks } from '@headset-cloud/outbound/address-rules.ts';
import { createConnector } from '@headset-cloud/outbound/connector.ts';
import { createResolver, type Resolve } from '@headset-cloud/outbound/resolve.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { expiredCertificate, testCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { answerBegins } from '../testing/answer-begins.ts';
import { OriginPools } from './pools.ts';
import { UndiciSender } from './sender.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listen(server: Server | TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function http(listener: RequestListener): Promise<number> {
  return listen(createHttp(listener));
}

const request = {
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{}'),
  authenticationKey: 'the authentication key',
};

function createSender(
  options: { time?: Time; totalMs?: number; resolve?: Resolve; ca?: string; maxPools?: number } = {},
) {
  const connect = createConnector({
    rules: addressRules(parseNetworks('127.0.0.0/8')),
    resolve: options.resolve ?? createResolver(60_000),
    connectTimeoutMs: 60_000,
    ...(options.ca && { ca: options.ca }),
  });
  const pools = new OriginPools({ maxPools: options.maxPools ?? 10, connect });
  const sender = new UndiciSender(pools, options.time ?? systemTime, {
    totalTimeoutMs: options.totalMs ?? 60_000,
    maxRetryAfterMs: 3_600_000,
  });
  closers.push(() => sender.close());
  const post = (url: string, signal = new AbortController().signal) =>
    sender.send({ ...request, url: new URL(url) }, signal);
  return { post, pools, sender };
}

test('a user and password in the URL are sent as basic authentication, unescaped', async () => {
  const heard: (string | undefined)[] = [];
  const port = await http((request, response) => {
    heard.push(request.headers.authorization);
    response.end();
  });
  const { post } = createSender();
  await post(`http://me:p%40ss%3A@127.0.0.1:${port}/`);
  await post(`http://me:50%25%zz@127.0.0.1:${port}/`);
  await post(`http://127.0.0.1:${port}/`);
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  expect(heard).toEqual([basic('me:p@ss:'), basic('me:50%25%zz'), undefined]);
});

// protects against callbacks/endless-answer
test('of an endless answer 64 KiB are read; its status still counts', async () => {
  let cut = false;
  const port = await http((_, response) => {
    response.on('close', () => {
      cut = true;
    });
    response.writeHead(200);
    const more = (): void => {
      while (!cut && response.write(Buffer.alloc(16_384)));
      if (!cut) response.once('drain', more);
    };
    more();
  });
  expect(await createSender().post(`http://127.0.0.1:${port}/`)).toMatchObject({
    statusCode: 200,
    error: '',
  });
  await waitFor('the connection is closed', () => cut);
});

test('an interrupted or endless answer counts by its status', async () => {
  const breaks = await http((_, response) => {
    response.writeHead(200, { 'content-length': 10 });
    response.write('half', () => response.destroy());
  });
  const stalls = await http(
    (_, response) => void response.writeHead(503, { 'retry-after': '7' }).write('half'),
  );
  expect(await createSender().post(`http://127.0.0.1:${breaks}/`)).toMatchObject({
    statusCode: 200,
    error: '',
  });
  const time = createFakeTime();
  const stalled = createSender({ time, totalMs: 100 }).post(`http://127.0.0.1:${stalls}/`);
  await answerBegins();
  await time.advance(100);
  expect(await stalled).toMatchObject({
    statusCode: 503,
    error: 'answered 503',
    retryAfterMs: 7000,
  });
});

test('informational responses are not the answer', async () => {
  const hints = { link: '</style.css>; rel=preload' };
  const answers = await http((_, response) => {
    response.writeContinue();
    response.writeEarlyHints(hints, () => response.writeHead(204).end());
  });
  const breaks = await http((_, response) => {
    response.writeEarlyHints(hints, () => response.destroy());
  });
  const { post } = createSender();
  expect(await post(`http://127.0.0.1:${answers}/`)).toMatchObject({ statusCode: 204, error: '' });
  expect(await post(`http://127.0.0.1:${breaks}/`)).toMatchObject({ statusCode: 0 });
});

// protects against callbacks/answer-secrets
test('of an answer without success the first 1 KiB are kept, without the key and the signatures that it contains', async () => {
  const headers = {
    'X-TLPF-NOTIFICATION-KEY': 'a'.repeat(64),
    'webhook-signature': `v1,${'b'.repeat(44)}`,
  };
  const port = await http((request, response) => {
    const { authorization } = request.headers;
    const said = `${JSON.stringify(request.rawHeaders)} ${'b'.repeat(44)} ${authorization} the authentication key ${'é'.repeat(70_000)}`;
    response.writeHead(500).end(said);
  });
  const { sender } = createSender();
  const url = new URL(`http://me:secret-word@127.0.0.1:${port}/`);
  const { answer = '' } = await sender.send({ ...request, url, headers }, new AbortController().signal);
  expect(answer).toContain('NOTIFICATION-KEY');
  expect(answer).toContain('é');
  expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(1024);
  expect(answer).not.toContain('\ufffd');
  expect(answer).not.toMatch(/a{60}|b{40}/);
  expect(answer).not.toContain(Buffer.from('me:secret-word').toString('base64'));
  expect(answer).not.toContain('the authentication key');
});

test('of a successful answer nothing is kept', async () => {
  const port = await http((_, response) => response.writeHead(200).end('thank you'));
  expect(await createSender().post(`http://127.0.0.1:${port}/`)).not.toHaveProperty('answer');
});

test('an endpoint that never answers is aborted after the total time-out', async () => {
  const port = await http(() => {});
  expect(await createSender({ totalMs: 100 }).post(`http://127.0.0.1:${port}/`)).toMatchObject({
    statusCode: 0,
    error: 'no complete answer within 100 ms',
  });
});

test('an endpoint that does not complete TCP or TLS is aborted, too', async () => {
  const port = await listen(createTcp((socket) => closers.push(async () => socket.destroy())));
  expect(await createSender({ totalMs: 100 }).post(`https://127.0.0.1:${port}/`)).toMatchObject({
    statusCode: 0,
    error: 'no complete answer within 100 ms',
  });
});

test('a request does not wait for the connection of another request, also with TLS', async () => {
  const secure = createHttps({ ...testCertificate }, (_, response) => response.writeHead(204).end());
  closers.push(async () => secure.closeAllConnections());
  let connections = 0;
  const port = await listen(
    createTcp((socket) => {
      connections += 1;
      if (connections === 1) closers.push(async () => socket.destroy());
      else secure.emit('connection', socket);
    }),
  );
  const { post } = createSender({ ca: testCertificate.cert, resolve: async () => ['127.0.0.1'] });
  const stop = new AbortController();
  const hanging = post(`https://localhost:${port}/`, stop.signal);
  await waitFor('the first connection', () => connections === 1);
  expect(await post(`https://localhost:${port}/`)).toMatchObject({ statusCode: 204 });
  stop.abort(new Error('stopping'));
  expect(await hanging).toMatchObject({ statusCode: 0 });
});

// protects against callbacks/ssrf-redirect
test('a redirect is not followed', async () => {
  const paths: (string | undefined)[] = [];
  const port = await http((request, response) => {
    paths.push(request.url);
    response.writeHead(307, { location: '/next' }).end();
  });
  expect(await createSender().post(`http://127.0.0.1:${port}/first`)).toMatchObject({ statusCode: 307 });
  expect(paths).toEqual(['/first']);
});

// protects against callbacks/certificate
test('a certificate is verified: its issuer and its name', async () => {
  const server = createHttps({ ...testCertificate }, (_, response) => response.writeHead(204).end());
  const port = await listen(server as unknown as Server);
  const resolve: Resolve = async () => ['127.0.0.1'];
  const strict = createSender({ resolve });
  expect(await strict.post(`https://localhost:${port}/`)).toMatchObject({
    statusCode: 0,
    error: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT'),
  });
  const trusting = createSender({ resolve, ca: testCertificate.cert });
  expect(await trusting.post(`https://localhost:${port}/`)).toMatchObject({ statusCode: 204 });
  expect(await trusting.post(`https://other.example:${port}/`)).toMatchObject({
    statusCode: 0,
    error: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  });
});

// protects against callbacks/certificate
test('an expired certificate is the error of the attempt', async () => {
  const server = createHttps({ ...expiredCertificate }, (_, response) => response.writeHead(204).end());
  const port = await listen(server as unknown as Server);
  const { post } = createSender({ ca: expiredCertificate.cert });
  expect(await post(`https://127.0.0.1:${port}/`)).toMatchObject({
    statusCode: 0,
    error: 'CERT_HAS_EXPIRED: certificate has expired',
  });
});

// protects against callbacks/ssrf-mixed
test('of several addresses of a name only the allowed ones are used', async () => {
  const port = await http((_, response) => response.writeHead(204).end());
  const mixed = createSender({ resolve: async () => ['169.254.169.254', '10.0.0.1', '127.0.0.1'] });
  expect(await mixed.post(`http://mixed.example:${port}/`)).toMatchObject({ statusCode: 204 });
  const refused = createSender({ resolve: async () => ['169.254.169.254', '10.0.0.1'] });
  expect(await refused.post(`http://internal.example:${port}/`)).toMatchObject({
    statusCode: 0,
    error: 'ADDRESS_REFUSED: the address is not public',
  });
});

test('connections are kept, for a limited number of origins', async () => {
  const sockets = new Set<unknown>();
  const ports = await Promise.all(
    Array.from({ length: 4 }, () =>
      http((request, response) => {
        sockets.add(request.socket);
        response.writeHead(204).end();
      }),
    ),
  );
  const { post, pools } = createSender({ maxPools: 2 });
  for (let i = 0; i < 20; i++) await post(`http://127.0.0.1:${ports[0]}/`);
  // A second connection may be opened while the answer on the first one is being finished.
  expect(sockets.size).toBeLessThanOrEqual(2);
  for (const port of ports)
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ statusCode: 204 });
  expect(pools.size).toBe(2);
});

test('a shutdown aborts all requests in flight, and later requests', async () => {
  const stop = new AbortController();
  let arrived = 0;
  const port = await http(() => {
    arrived += 1;
    if (arrived === 3) stop.abort(new Error('stopping'));
  });
  const { post } = createSender();
  const all = Array.from({ length: 3 }, () => post(`http://127.0.0.1:${port}/`, stop.signal));
  const cut = { statusCode: 0, error: 'stopping' };
  for (const one of await Promise.all(all)) expect(one).toMatchObject(cut);
  expect(await post(`http://127.0.0.1:${port}/`, stop.signal)).toMatchObject(cut);
  expect(arrived).toBe(3);
});

test('a shutdown aborts a request', async () => {
  const port = await http(() => stop.abort(new Error('stopping')));
  const stop = new AbortController();
  expect(await createSender().post(`http://127.0.0.1:${port}/`, stop.signal)).toMatchObject({
    statusCode: 0,
    error: 'stopping',
  });
});
