import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net';
import { verifyCallback } from '@headset-cloud/demo/integrator/verify.ts';
import type { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { answerBegins } from './testing/answer-begins.ts';
import { openWorld, type TestNotifier, type World } from './testing/world.ts';

const key = 'the authentication key';
const servers: Server[] = [];
let world: World;

beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

type Listener = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An integrator's endpoint; the application `a-1` (or another) points to it. */
async function endpoint(listener: Listener, ...applications: string[]): Promise<string> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    listener(request, response, Buffer.concat(parts));
  });
  const origin = await listen(server);
  for (const id of applications.length > 0 ? applications : ['a-1']) point(id, `${origin}/sign?x=1`);
  return origin;
}

function point(applicationId: string, url: string): void {
  world.destinations.set(applicationId, { url, authenticationKey: key });
}

const body = Buffer.from('{"deviceId":"356938035643809","file":"a-1/356938035643809/upload_files/写真.png"}');

function ask(notifier: TestNotifier, given: { applicationId?: string; maxAnswerBytes?: number } = {}) {
  const request = { applicationId: 'a-1', setting: 'fileUploadGetUrl', body, ...given };
  return notifier.signedUrls.requestSignedUrls(request);
}

async function failure(asked: Promise<unknown>): Promise<Pick<DomainError, 'code' | 'message' | 'internal'>> {
  const error = await asked.then(
    () => undefined,
    (e: DomainError) => e,
  );
  if (!error) throw new Error('it did not fail');
  return { code: error.code, message: error.message, internal: error.internal };
}

/** Failures of endpoints that the metric has counted. */
async function failedRequests({ metrics }: TestNotifier): Promise<number | undefined> {
  const { values } = (await metrics.getSingleMetric('headset_signed_url_requests_total')?.get()) ?? {};
  return values?.find(({ labels }) => labels['outcome'] === 'failed')?.value ?? 0;
}

const integratorFailed = (internal: unknown) => ({
  code: 'integrator_failed',
  message: 'The signed URL could not be obtained.',
  internal,
});
const because = (problem: string) =>
  integratorFailed(
    expect.stringMatching(new RegExp(`^fileUploadGetUrl of a-1 at \\S+: ${RegExp.escape(problem)}$`)),
  );

test('one POST is sent unchanged, signed like a callback with a new id, and its answer is returned unchanged', async () => {
  const seen: (Pick<IncomingMessage, 'headers' | 'rawHeaders'> & { line: string; body: Buffer })[] = [];
  const answer = '{"url":"https://bucket.example/写真?signature=a%2Fb","n":12345678901234567890}';
  await endpoint((request, response, received) => {
    const { headers, rawHeaders } = request;
    seen.push({ headers, rawHeaders, line: `${request.method} ${request.url}`, body: received });
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
  const notifier = await world.start();
  const first = await ask(notifier);
  const second = await ask(notifier);
  expect(Buffer.from(first.body).toString()).toBe(answer);
  expect(Buffer.from(second.body).toString()).toBe(answer);
  expect(seen).toHaveLength(2);
  for (const one of seen) {
    expect(one.line).toBe('POST /sign?x=1');
    expect(one.body).toEqual(body);
    // Spelled like in the specification (rule A22).
    expect(one.rawHeaders).toEqual(expect.arrayContaining(['X-TLPF-NOTIFICATION-KEY', 'applicationId']));
    expect(one.headers).toMatchObject({ applicationid: 'a-1', 'content-type': 'application/json' });
    expect(verifyCallback({ headers: one.headers, rawBody: one.body }, [key])).toBe(true);
  }
  expect(seen[0]?.headers['webhook-id']).not.toBe(seen[1]?.headers['webhook-id']);
});

test('address and key are read for each request', async () => {
  const keys: boolean[] = [];
  const origin = await endpoint((request, response, rawBody) => {
    keys.push(verifyCallback({ headers: request.headers, rawBody }, ['the next key']));
    response.end('{}');
  });
  const notifier = await world.start();
  await ask(notifier);
  world.destinations.set('a-1', { url: origin, authenticationKey: 'the next key' });
  await ask(notifier);
  expect(keys).toEqual([false, true]);
});

test('a setting that is not set, or a key that was never issued, is destination_not_set', async () => {
  const notifier = await world.start();
  const notSet = {
    code: 'destination_not_set',
    message: 'The setting fileUploadGetUrl or the authentication key is not set.',
  };
  expect(await failure(ask(notifier))).toMatchObject(notSet);
  world.destinations.set('a-1', { url: 'http://127.0.0.1:1/', authenticationKey: '' });
  expect(await failure(ask(notifier))).toMatchObject(notSet);
});

test.each(['deviceEvent', 'soraEvent', 'remoteSupportEvent', ''])(
  'the setting %j signs no URLs',
  async (setting) => {
    const notifier = await world.start();
    const asked = notifier.signedUrls.requestSignedUrls({ applicationId: 'a-1', setting, body });
    expect(await failure(asked)).toMatchObject({ code: 'invalid_argument' });
  },
);

test('while devices is unavailable the call fails with unavailable and reaches no integrator', async () => {
  world.destinations.set('a-1', 'away');
  const notifier = await world.start();
  expect(await failure(ask(notifier))).toMatchObject({
    code: 'unavailable',
    message: 'devices is unavailable',
  });
});

describe('an invalid answer', () => {
  // proves cb/7/url-errors
  test.each([[201], [204], [302], [400], [410], [500]])('status %d', async (status) => {
    const paths: (string | undefined)[] = [];
    const origin = await endpoint((request, response) => {
      paths.push(request.url);
      response.writeHead(status, { location: '/elsewhere' }).end(status === 204 ? undefined : '{"url":"x"}');
    });
    point('a-1', `${origin}/first`);
    expect(await failure(ask(await world.start()))).toEqual(because(`answered ${status}`));
    expect(paths).toEqual(['/first']);
  });

  test.each([
    ['', 'the answer is not JSON'],
    ['<html>secret</html>', 'the answer is not JSON'],
    ['{"url":"secret"', 'the answer is not JSON'],
    ['["secret"]', 'the answer is not a JSON object'],
    ['"secret"', 'the answer is not a JSON object'],
    ['null', 'the answer is not a JSON object'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'the answer is not UTF-8'],
  ])('%j: %s, and no text of it is reported', async (answer, problem) => {
    await endpoint((_, response) => response.end(answer));
    expect(await failure(ask(await world.start()))).toEqual(because(problem));
  });

  test.each([
    [99, false],
    [100, false],
    [101, true],
  ])('of %d bytes where 100 are allowed, announced or not', async (bytes, refused) => {
    const answer = `{"a":"${'x'.repeat(bytes - 8)}"}`;
    let announce = true;
    await endpoint((_, response) => {
      if (announce) response.setHeader('content-length', bytes);
      else response.flushHeaders();
      response.end(answer);
    });
    const notifier = await world.start();
    for (announce of [true, false]) {
      const asked = ask(notifier, { maxAnswerBytes: 100 });
      if (refused) expect(await failure(asked)).toEqual(because('the answer has more than 100 bytes'));
      else expect(Buffer.from((await asked).body).toString()).toBe(answer);
    }
  });

  test('without end: it is limited to 1 MiB, whatever limit is requested', async () => {
    let cut = false;
    await endpoint((_, response) => {
      response.on('close', () => {
        cut = true;
      });
      const more = (): void => {
        while (!cut && response.write(Buffer.alloc(65_536, 0x20)));
        if (!cut) response.once('drain', more);
      };
      more();
    });
    const asked = ask(await world.start(), { maxAnswerBytes: 100 * 1024 * 1024 });
    expect(await failure(asked)).toEqual(because('the answer has more than 1048576 bytes'));
    await waitFor('the connection is closed', () => cut);
  });
});

// protects against callbacks/slow-answer
describe('a slow endpoint is aborted when the total time is over', () => {
  const env = { NOTIFIER_TOTAL_TIMEOUT_MS: '200' };
  test('it never answers', async () => {
    await endpoint(() => {});
    expect(await failure(ask(await world.start(env)))).toEqual(because('no complete answer within 200 ms'));
  });
  test('it sends single bytes slowly', async () => {
    const held: ServerResponse[] = [];
    await endpoint((_, response) => {
      response.writeHead(200).write('{');
      held.push(response);
    });
    const time = createFakeTime(Date.now());
    const notifier = await world.start(env, { time });
    const begun = answerBegins('body');
    let hasFailed = false;
    const asked = failure(ask(notifier)).finally(() => {
      hasFailed = true;
    });
    await begun;
    for (let passedMs = 0; passedMs < 180; passedMs += 20) {
      const another = answerBegins('body');
      held[0]?.write(' ');
      await another;
      await time.advance(20);
    }
    await time.advance(19);
    expect(hasFailed).toBe(false);
    await time.advance(1);
    expect(await asked).toEqual(because('no complete answer within 200 ms'));
  });
  test('it accepts the connection and speaks no HTTP', async () => {
    point('a-1', await listen(createTcp(() => {})));
    expect(await failure(ask(await world.start(env)))).toEqual(because('no complete answer within 200 ms'));
  });
});

test('a closed connection fails the request, and it is not sent again', async () => {
  let connections = 0;
  const origin = await listen(
    createTcp((socket) => {
      connections += 1;
      socket.once('data', () => socket.destroy());
    }),
  );
  point('a-1', origin);
  expect(await failure(ask(await world.start()))).toEqual(
    integratorFailed(expect.stringContaining('a-1 at ')),
  );
  expect(connections).toBe(1);
});

// protects against callbacks/ssrf-addresses
test.each(['http://127.0.0.1', 'http://10.0.0.1', 'http://169.254.169.254', 'http://[::1]'])(
  'an address inside the network is rejected: %s',
  async (address) => {
    let arrived = 0;
    const origin = await endpoint((_, response) => {
      arrived += 1;
      response.end('{}');
    });
    point('a-1', `${address}:${new URL(origin).port}/`);
    const notifier = await world.start({ NOTIFIER_ALLOW_ADDRESSES: '192.0.2.0/24' });
    expect(await failure(ask(notifier))).toEqual(because('ADDRESS_REFUSED: the address is not public'));
    expect(arrived).toBe(0);
  },
);

test('a hanging destination delays neither other applications at its origin nor callbacks', async () => {
  let hanging = 0;
  const origin = await endpoint(
    (request, response) => {
      if (request.headers['applicationid'] === 'a-1' && request.url !== '/callbacks') hanging += 1;
      else response.end('{}');
    },
    'a-1',
    'a-2',
  );
  world.destinations.set('a-1/deviceEvent', { url: `${origin}/callbacks`, authenticationKey: key });
  const notifier = await world.start({
    NOTIFIER_SIGNED_URL_CONCURRENCY: '3',
    NOTIFIER_ENDPOINT_CONCURRENCY: '1',
    NOTIFIER_TOTAL_TIMEOUT_MS: '60000',
  });
  const asked = Array.from({ length: 10 }, () => failure(ask(notifier)));
  await waitFor('the limit is reached', () => hanging === 3);
  for (let i = 0; i < 5; i++) await ask(notifier, { applicationId: 'a-2' });
  await world.publish({ notificationId: 'n-1', applicationId: 'a-1' });
  await waitFor('the callback is delivered', async () => {
    const { delivery } = await notifier.admin
      .getDelivery({ notificationId: 'n-1' })
      .catch(() => ({ delivery: undefined }));
    return delivery?.status === 'delivered';
  });
  expect(hanging).toBe(3);
  // A shutdown aborts requests in flight and waiting requests.
  await notifier.stop();
  const stopping = { code: 'unavailable', message: 'The notifier is stopping.', internal: undefined };
  expect(await Promise.all(asked)).toEqual(asked.map(() => stopping));
  // The abort says nothing about the endpoint.
  expect(await failedRequests(notifier)).toBe(0);
});

test('requests over the limit wait in order; too many are rejected at once', async () => {
  const held: ServerResponse[] = [];
  await endpoint((_, response) => held.push(response));
  const notifier = await world.start({ NOTIFIER_SIGNED_URL_CONCURRENCY: '1' });
  const asked = Array.from({ length: 17 }, () => ask(notifier));
  await waitFor('the first has arrived', () => held.length === 1);
  expect(await failure(ask(notifier))).toEqual(because('too many requests to this destination wait already'));
  for (let n = 1; n <= asked.length; n++) {
    await waitFor('the next has arrived', () => held.length === n);
    held[n - 1]?.end('{}');
  }
  expect(await Promise.all(asked)).toHaveLength(17);
});

test('a caller that aborts frees its slot', async () => {
  const held: ServerResponse[] = [];
  await endpoint((_, response) => held.push(response));
  const notifier = await world.start({ NOTIFIER_SIGNED_URL_CONCURRENCY: '1' });
  const request = { applicationId: 'a-1', setting: 'fileUploadGetUrl', body };
  const caller = new AbortController();
  const gone = failure(notifier.signedUrls.requestSignedUrls(request, { signal: caller.signal }));
  await waitFor('it has arrived', () => held.length === 1);
  const next = ask(notifier);
  caller.abort();
  await gone;
  await waitFor('the next has arrived', () => held.length === 2);
  held[1]?.end('{}');
  await next;
  expect(await failedRequests(notifier)).toBe(0);
});
