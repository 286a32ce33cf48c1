import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { verifyCallback } from '@headset-cloud/demo/integrator/verify.ts';
import type { DomainError } from '@headset-cloud/runtime/errors.ts';
import { testCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { answerBegins } from './testing/answer-begins.ts';
import { openWorld, type TestNotifier, type World } from './testing/world.ts';

const key = 'the authentication key of the application';
const servers: Server[] = [];
let world: World;

beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

/** A receiver that the application `a-1` has registered; it stores the requests. */
async function receiver(reply: RequestListener): Promise<{ request: IncomingMessage; body: Buffer }[]> {
  const seen: { request: IncomingMessage; body: Buffer }[] = [];
  const port = await listen(
    createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      seen.push({ request, body: Buffer.concat(parts) });
      reply(request, response);
    }),
  );
  point(`http://127.0.0.1:${port}/hook?x=1`);
  return seen;
}

const point = (url: string) => world.destinations.set('a-1', { url, authenticationKey: key });
const body = Buffer.from('{"deviceId":"350000000000006","message":"写真"}');
const verifies = ({ request, body: rawBody }: { request: IncomingMessage; body: Buffer }) =>
  verifyCallback({ headers: request.headers, rawBody }, [key]);

function send(
  notifier: TestNotifier,
  more: { verify?: boolean; destination?: string; idempotencyKey?: string; bytes?: Buffer } = {},
) {
  const { verify = false, destination = 'deviceEvent', idempotencyKey, bytes = body } = more;
  return notifier.tests.sendTestCallback({
    caller: {
      ...{ clientId: 'c', applicationId: 'a-1' },
      ...(idempotencyKey && {
        idempotency: { key: idempotencyKey, method: 'POST', path: '/t', bodySha256: bytes },
      }),
    },
    ...{ destination, verify, body: bytes },
  });
}

async function codeOf(sent: Promise<unknown>): Promise<string> {
  return sent.then(
    () => 'none',
    (error: DomainError) => error.code,
  );
}

test('is sent once, now, like a callback, marked as a test, and is not stored as a delivery', async () => {
  const seen = await receiver((_, response) => response.writeHead(202).end('taken'));
  const notifier = await world.start();
  const outcome = await send(notifier);
  expect(seen).toHaveLength(1);
  const [one] = seen as [(typeof seen)[0]];
  expect([one.request.method, one.request.url, one.body]).toEqual(['POST', '/hook?x=1', body]);
  expect(one.request.rawHeaders).toEqual(
    expect.arrayContaining(['X-TLPF-TEST', 'X-TLPF-NOTIFICATION-KEY', 'applicationId']),
  );
  expect(one.request.headers).toMatchObject({ 'x-tlpf-test': 'true', applicationid: 'a-1' });
  expect(verifies(one)).toBe(true);
  expect(outcome.webhookId).toBe(one.request.headers['webhook-id']);
  expect(outcome.attempt).toMatchObject({ statusCode: 202, reason: '', answer: 'taken', answerCut: false });
  expect([outcome.attempt?.tls, outcome.verification]).toEqual([undefined, undefined]);
  expect((await notifier.admin.listDeliveries({ applicationId: 'a-1' })).deliveries).toEqual([]);
});

test.each([
  [401, true],
  [204, false],
  [500, undefined],
] as const)('a receiver that answers a wrong signature with %i: refused is %p', async (status, refused) => {
  const seen = await receiver((request, response) => {
    const isWrong = String(request.headers['webhook-id']).endsWith('-wrong-signature');
    response.writeHead(isWrong ? status : 204).end();
  });
  const outcome = await send(await world.start(), { verify: true });
  expect(seen.map(verifies)).toEqual([true, false]);
  expect(outcome.verification?.refused).toBe(refused);
  expect(outcome.verification?.attempt?.statusCode).toBe(status);
  expect(seen[1]?.request.headers['x-tlpf-test']).toBe('true');
});

// protects against callbacks/test-secrets
test('a receiver that returns the request and the key: neither key nor signature is reported', async () => {
  const secrets: string[] = [];
  const seen = await receiver((request, response) => {
    const { headers } = request;
    secrets.push(
      key,
      ...String(headers['webhook-signature']).split(','),
      String(headers['x-tlpf-notification-key']),
    );
    response.end(
      `${'x'.repeat(970)}${headers['x-tlpf-notification-key']} ${key}${JSON.stringify(headers).replaceAll('/', '\\/')}`,
    );
  });
  const outcome = await send(await world.start(), { verify: true });
  expect(seen).toHaveLength(2);
  for (const answer of [outcome.attempt?.answer ?? '', outcome.verification?.attempt?.answer ?? '']) {
    expect(answer).toBe('x'.repeat(970) + '*'.repeat(54));
    for (const secret of secrets.filter((one) => one.length > 8)) {
      expect(answer).not.toContain(secret.slice(0, 20));
    }
  }
});

test('1 KiB of the answer is returned, whole characters only', async () => {
  await receiver((_, response) => response.end(`ab${'写'.repeat(2000)}`));
  const outcome = await send(await world.start());
  expect(outcome.attempt).toMatchObject({ answer: `ab${'写'.repeat(340)}`, answerCut: true });
});

// protects against callbacks/test-endless
test('an answer of 10 MB, an endless one and a missing one are reported in time', async () => {
  const time = createFakeTime(Date.now());
  const notifier = await world.start({ NOTIFIER_TOTAL_TIMEOUT_MS: '600' }, { time });
  await receiver((_, response) => response.end(Buffer.alloc(10 * 1024 * 1024, 'y')));
  expect((await send(notifier)).attempt).toMatchObject({ statusCode: 200, answer: 'y'.repeat(1024) });
  await receiver((_, response) => void response.write('begun'));
  const begins = answerBegins('body');
  const begun = send(notifier);
  await begins;
  await time.advance(600);
  expect((await begun).attempt).toMatchObject({ statusCode: 200, answer: 'begun' });
  const seen = await receiver(() => {});
  let isOver = false;
  const sent = send(notifier, { verify: true }).finally(() => {
    isOver = true;
  });
  await waitFor('the request', () => seen.length === 1);
  await time.advance(599);
  expect(isOver).toBe(false);
  await time.advance(1);
  // The time limit includes both requests, so no more time passes.
  const outcome = await sent;
  expect(outcome.attempt).toMatchObject({ statusCode: 0, reason: 'No complete answer arrived in time.' });
  expect(outcome.verification?.refused).toBeUndefined();
});

test('a redirect is not followed', async () => {
  const seen = await receiver((_, response) => response.writeHead(307, { location: '/next' }).end());
  expect((await send(await world.start())).attempt).toMatchObject({ statusCode: 307 });
  expect(seen).toHaveLength(1);
});

// protects against callbacks/ssrf-addresses
test('a private address, a closed port and an unknown name are reported with their reasons', async () => {
  const seen = await receiver((_, response) => response.end());
  const strict = await world.start({ NOTIFIER_ALLOW_ADDRESSES: '192.0.2.1/32' });
  expect((await send(strict)).attempt).toMatchObject({
    statusCode: 0,
    reason: 'The host name has no public address. Callbacks are sent to public addresses only.',
  });
  expect(seen).toEqual([]);
  const resolve = async () => {
    throw Object.assign(new Error('queryA ENOTFOUND nothing.example'), { code: 'ENOTFOUND' });
  };
  const notifier = await world.start({}, { resolve });
  point('http://127.0.0.1:1/');
  expect((await send(notifier)).attempt?.reason).toBe('The connection to the endpoint failed.');
  point('http://nothing.example/');
  expect((await send(notifier)).attempt?.reason).toBe('The host name cannot be resolved.');
});

test('an answer that is not HTTP is reported; informational responses are not the answer', async () => {
  const answers = [
    'SSH-2.0-OpenSSH_9.9\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
  ];
  await receiver((_, response) => void response.socket?.end(answers.shift() ?? ''));
  const notifier = await world.start();
  const malformed = { statusCode: 0, reason: 'The endpoint sent an answer that is not valid HTTP.' };
  for (const expected of [malformed, malformed, { statusCode: 204, reason: '' }])
    expect((await send(notifier)).attempt).toMatchObject(expected);
});

test('TLS details are returned; an untrusted certificate is reported', async () => {
  const server = createHttps({ ...testCertificate }, (_, response) => response.end());
  const port = await listen(server as unknown as Server);
  point(`https://localhost:${port}/`);
  const resolve = async () => ['127.0.0.1'];
  const trusting = await world.start({}, { resolve, ca: testCertificate.cert });
  const { attempt } = await send(trusting);
  expect(attempt).toMatchObject({ statusCode: 200, tls: { protocol: 'TLSv1.3' } });
  expect(attempt?.tls?.cipher).toMatch(/^TLS_/);
  expect(Number(attempt?.tls?.validToMs)).toBeGreaterThan(Date.now());
  const strict = await world.start({}, { resolve });
  expect((await send(strict)).attempt).toMatchObject({
    statusCode: 0,
    reason: 'The TLS handshake failed, or the certificate is not valid.',
  });
});

// protects against callbacks/test-flood
test('at most five of an application run at once, each counts for at least a second; then another may start', async () => {
  let isSlow = true;
  const release: (() => void)[] = [];
  await receiver((_, response) => {
    if (isSlow) release.push(() => response.end());
    else response.end();
  });
  const time = createFakeTime(Date.now());
  const notifier = await world.start({}, { time });
  const five = Array.from({ length: 5 }, () => send(notifier));
  expect(await send(notifier).catch((error: DomainError) => error)).toMatchObject({
    code: 'too_many_requests',
    limit: { policy: 'test-callbacks', quota: 5, concurrent: true },
    retryAfterMs: 1000,
  });
  await waitFor('all five', () => release.length === 5);
  isSlow = false;
  for (const one of release) one();
  await Promise.all(five);
  await time.advance(999);
  expect(await codeOf(send(notifier))).toBe('too_many_requests');
  await time.advance(1);
  expect(await codeOf(send(notifier))).toBe('none');
});

test('without a URL, or for an unknown setting: rejected, and nothing is sent', async () => {
  const notifier = await world.start();
  expect(await codeOf(send(notifier))).toBe('destination_not_set');
  expect(await codeOf(send(notifier, { destination: 'fileUploadGetUrl' }))).toBe('invalid_argument');
});

test('a repeat under its Idempotency-Key gets the first answer and sends nothing; another body is rejected', async () => {
  const seen = await receiver((_, response) => response.writeHead(500).end(`${seen.length}`));
  const notifier = await world.start();
  const first = await send(notifier, { idempotencyKey: 'k', verify: true });
  expect(await send(notifier, { idempotencyKey: 'k', verify: true })).toEqual(first);
  expect(Buffer.from(first.body)).toEqual(body);
  expect(seen).toHaveLength(2);
  const other = send(notifier, { idempotencyKey: 'k', bytes: Buffer.from('{}') });
  expect(await codeOf(other)).toBe('idempotency_key_reused');
  // The database contains neither key nor signature.
  const kept = await world.store
    .collection<{ _id: string; answer: string }>('idempotency')
    .find({})
    .toArray();
  const text = kept.map(({ answer }) => Buffer.from(answer, 'base64').toString()).join();
  expect(text).toContain('test-');
  for (const { request } of seen) {
    expect(text).not.toContain(String(request.headers['x-tlpf-notification-key']));
  }
});
