import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type ConnectProxy, startConnectProxy } from '@headset-cloud/outbound/testing/connect-proxy.ts';
import { expiredCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { createS3Storage, type S3Options } from './s3.ts';

/** A storage on this machine that gives this answer to HeadBucket. */
async function startStorage(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  tls?: object,
) {
  const server = tls ? createHttps(tls, answer) : createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const closers: (() => unknown)[] = [];
const credentials = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };
beforeAll(() => void Object.assign(process.env, credentials));
afterAll(() => {
  for (const name of Object.keys(credentials)) delete process.env[name];
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function open(endpoint: string, more: Partial<S3Options> = {}) {
  const storage = createS3Storage({
    ...{ endpoint, publicEndpoint: undefined, bucket: 'artifacts', region: 'us-east-1', tempDir: undefined },
    ...more,
  });
  closers.push(() => storage.close());
  return storage;
}

test('an expired certificate of the storage is reported as the reason', async () => {
  const port = await startStorage((_, response) => response.end(), expiredCertificate);
  await expect(open(`https://localhost:${port}`).requireAvailable(0)).rejects.toMatchObject({
    code: 'unavailable',
    internal: `bucket artifacts at https://localhost:${port}: Error: certificate has expired`,
  });
});

test.each([
  ['SignatureDoesNotMatch', 'it answers 403 (SignatureDoesNotMatch)'],
  ['ExpiredToken', 'it answers 403 (ExpiredToken)'],
])('rotated credentials (%s) are reported as the reason, although HEAD has no code', async (code, reason) => {
  const port = await startStorage((request, response) => {
    response.writeHead(403, { 'content-type': 'application/xml' });
    response.end(request.method === 'HEAD' ? '' : `<Error><Code>${code}</Code><Message>no</Message></Error>`);
  });
  await expect(open(`http://127.0.0.1:${port}`).requireAvailable(0)).rejects.toMatchObject({
    internal: `bucket artifacts at http://127.0.0.1:${port}: ${reason}`,
  });
});

test('credentials without the right to read the bucket can be used', async () => {
  const port = await startStorage((request, response) => {
    response.writeHead(403, { 'content-type': 'application/xml' });
    response.end(request.method === 'HEAD' ? '' : '<Error><Code>AccessDenied</Code></Error>');
  });
  await open(`http://127.0.0.1:${port}`).requireAvailable(0);
});

describe('through the egress proxy', () => {
  let proxy: ConnectProxy;
  beforeEach(async () => {
    proxy = await startConnectProxy();
    closers.push(() => proxy.close());
    proxy.route = (host) => (host === 's3.example' ? '127.0.0.1' : undefined);
  });
  const through = (port: number) =>
    open(`http://s3.example:${port}`, { proxy: { origin: proxy.origin, bypass: () => false } });

  test('the storage is called, and its name resolved by the proxy', async () => {
    const calls: (string | undefined)[] = [];
    const port = await startStorage((request, response) => {
      calls.push(`${request.method} ${request.url} ${request.headers.host}`);
      response.end();
    });
    const storage = through(port);
    await storage.requireAvailable(0);
    expect(calls).toEqual([`HEAD /artifacts/ s3.example:${port}`]);
    expect(proxy.asked).toEqual([`s3.example:${port}`]);
  });

  test.each([
    ['away', 'cannot be reached (ECONNREFUSED)', () => proxy.close()],
    [
      'refuses',
      'refuses this destination (403)',
      () => void Object.assign(proxy, { conduct: { status: 403 } }),
    ],
    ['never answers', 'opened no tunnel within', () => void Object.assign(proxy, { conduct: 'silent' })],
  ])('a proxy that is %s is reported as the reason', async (_, reported, break_) => {
    const port = await startStorage((_request, response) => response.end());
    await break_();
    await expect(through(port).requireAvailable(0)).rejects.toMatchObject({
      code: 'unavailable',
      internal: expect.stringContaining(`the egress proxy ${reported}`),
    });
  });

  test('signed URLs do not depend on the proxy', async () => {
    const url = await through(80).signDownload({ key: 'k', startMs: Date.now(), seconds: 60 });
    expect(new URL(url).host).toBe('s3.example');
    expect(proxy.asked).toEqual([]);
  });
});
