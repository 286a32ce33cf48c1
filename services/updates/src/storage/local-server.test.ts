import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createLocalStorage, type LocalStorage } from './local.ts';
import { createLocalServer } from './local-server.ts';

// tests/contract tests the guarantees of both storages; these tests cover only the local server.
let folder: string;
let storage: LocalStorage;
let server: ReturnType<typeof createLocalServer>;
let closed: boolean;
let stored: string[];

beforeEach(() => start());
async function start(idleTimeoutMs = 60_000): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'local-server-'));
  stored = [];
  closed = false;
  const secrets = createSecretBox('a test secret of more than thirty-two characters');
  storage = createLocalStorage({ folder, secrets, publicUrl: () => `http://127.0.0.1:${server.port()}` });
  server = createLocalServer({
    ...{ storage, secrets, clock: systemClock, logger: createLogger({ level: 'silent' }) },
    listen: { host: '127.0.0.1', port: 0 },
    requestTimeoutMs: 60_000,
    idleTimeoutMs,
    onUpload: async () => (closed ? { status: 409, text: 'closed' } : undefined),
    onUploaded: async (key) => {
      stored.push(key);
      return { status: 200, text: 'stored' };
    },
  });
  await storage.prepare();
  await server.start();
}
afterEach(() => stop());
async function stop(): Promise<void> {
  await server.stop();
  rmSync(folder, { recursive: true });
}

const sign = (sizeBytes: number) =>
  storage.signUpload({
    ...{ key: 'uploads/0a', contentType: 'a/b', sizeBytes },
    startMs: Date.now(),
    seconds: 60,
  });

async function send(
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body = '',
  absolute = false,
) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string; continued: boolean }>(
    (resolve, reject) => {
      let continued = false;
      const sending = httpRequest(url, { method, headers, ...(absolute && { path: url }) }, async (answer) =>
        resolve({
          ...{ status: answer.statusCode ?? 0, headers: answer.headers, continued },
          text: (await buffer(answer)).toString(),
        }),
      );
      sending.once('error', reject);
      sending.once('continue', () => {
        continued = true;
        sending.end(body);
      });
      if (headers['expect']) sending.flushHeaders();
      else sending.end(body);
    },
  );
}

// protects against files/unsigned
test.each([
  '/',
  '/objects/',
  '/objects/x',
  '/uploads/0a',
  '/objects/../../etc/passwd',
  `/objects/${'A'.repeat(300)}`,
])('the path %s is not a signed URL: 403', async (path) => {
  const answer = await send('GET', `http://127.0.0.1:${server.port()}${path}`);
  expect([answer.status, answer.text]).toEqual([403, 'The URL’s signature is wrong.\n']);
});

test('a client that sends Expect: 100-continue gets an error or 100 Continue before it sends the body', async () => {
  const url = await sign(4);
  const expecting = { expect: '100-continue', 'content-length': '4' };
  const wrong = await send('PUT', url, { ...expecting, 'content-type': 'c/d' }, 'four');
  expect([wrong.status, wrong.continued, wrong.text]).toEqual([
    403,
    false,
    'The Content-Type must be a/b.\n',
  ]);
  const right = await send('PUT', url, { ...expecting, 'content-type': 'a/b' }, 'four');
  expect([right.status, right.continued, stored]).toEqual([200, true, ['uploads/0a']]);
});

test('an upload without effect is rejected before its body is read, and nothing is stored', async () => {
  closed = true;
  const headers = { expect: '100-continue', 'content-length': '4', 'content-type': 'a/b' };
  const answer = await send('PUT', await sign(4), headers, 'four');
  expect([answer.status, answer.continued, answer.text]).toEqual([409, false, 'closed\n']);
  expect([stored, await storage.head('uploads/0a')]).toEqual([[], undefined]);
});

test('the path of an absolute-form request target is used', async () => {
  const put = { 'content-type': 'a/b', 'content-length': '4' };
  expect((await send('PUT', await sign(4), put, 'four', true)).status).toBe(200);
  const url = await storage.signDownload({ key: 'uploads/0a', startMs: Date.now(), seconds: 60 });
  expect((await send('GET', url, {}, '', true)).text).toBe('four');
});

test('HEAD returns the headers of GET', async () => {
  await send('PUT', await sign(4), { 'content-type': 'a/b', 'content-length': '4' }, 'four');
  const url = await storage.signDownload({ key: 'uploads/0a', startMs: Date.now(), seconds: 60 });
  const head = await send('HEAD', url, { range: 'bytes=1-2' });
  expect([head.status, head.headers['content-range'], head.headers['content-length'], head.text]).toEqual([
    ...[206, 'bytes 1-2/4', '2', ''],
  ]);
  const etag = (await send('GET', url)).headers['etag'] as string;
  expect((await send('GET', url, { range: 'bytes=1-2', 'if-range': etag })).text).toBe('ou');
  // The content differs from the content that the client began to load, so the answer is the whole file.
  expect((await send('GET', url, { range: 'bytes=1-2', 'if-range': '"other"' })).text).toBe('four');
});

// protects against files/stall
test('an upload that stalls is aborted, and its partial file is removed', async () => {
  await stop();
  await start(300);
  const url = new URL(await sign(1000));
  const socket = connect(server.port(), '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  socket.write(
    `PUT ${url.pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: 1000\r\n\r\nsome`,
  );
  await closed;
  expect(readdirSync(join(folder, 'uploads'))).toEqual([]);
  expect(stored).toEqual([]);
});

test('partial files of a crash are removed at the next start', async () => {
  const url = new URL(await sign(1000));
  const socket = connect(server.port(), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    `PUT ${url.pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: 1000\r\n\r\nsome`,
  );
  const partial = () => readdirSync(join(folder, 'partial'));
  await waitFor('the first bytes', () => partial().length > 0);
  await storage.prepare();
  expect(partial()).toEqual([]);
  socket.destroy();
});

// protects against files/traversal
test('a key that this service did not create is never used as a path', () => {
  for (const key of ['../x', 'uploads/../../x', 'uploads/', 'uploads/.x', '/etc/passwd', 'other/0a']) {
    expect(() => storage.file(key)).toThrow('not a key of this service');
  }
});
