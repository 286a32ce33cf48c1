import { createServer } from 'node:http';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { jest } from '@jest/globals';
import { createApi } from './api.ts';
import { application, type Cloud, closed, type Given, listening, openCloud } from './testing/cloud.ts';
import { run } from './testing/run.ts';

let cloud: Cloud | undefined;
afterEach(() => cloud?.close());

const empty = { body: { deliveries: [], cursor: null } };
const list = 'deliveries list';

/** Runs hc against an API that does not answer within 100 ms. */
async function unanswered(args: string) {
  let calls = 0;
  cloud = await openCloud(() => {
    calls++;
    return undefined;
  });
  const time = createFakeTime();
  const result = run(args, cloud.env, { time });
  await waitFor('the call', () => calls === 1);
  await time.advance(100);
  return result;
}

describe('errors of a call are reported with the next step', () => {
  const cases: readonly [name: string, given: Given, code: number, err: RegExp][] = [
    [
      'a token that is not accepted',
      { status: 401, body: { message: 'Unauthorized' } },
      4,
      /does not accept the access token: Unauthorized .*Run hc login/,
    ],
    [
      'an application of another developer',
      { status: 403, body: { message: 'Forbidden' } },
      1,
      /^Forbidden \(403, request r-1\)\. Is app-1 an application of this client/,
    ],
    [
      'a wrong query',
      { status: 400, headers: { 'x-error-detail': '/state: no state' }, body: { message: 'Invalid' } },
      1,
      /^Invalid: \/state: no state \(400, request r-1\)\n$/,
    ],
    [
      'an unavailable service',
      { status: 503, body: { message: 'Too slow.' } },
      3,
      /^Too slow\. \(503, .*Try again later\.\n$/,
    ],
    [
      'another server',
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' },
      3,
      /is not the API/,
    ],
    ['another API', { body: ['a'] }, 3, /is not the API: status 200\. Run hc login/],
    [
      'a page of a proxy',
      { status: 502, body: '<html>Bad gateway' },
      3,
      /is not the API: status 502; the API may be unavailable/,
    ],
  ];
  test.each(cases)('%s', async (_, given, code, err) => {
    cloud = await openCloud(() => given);
    const result = await run(list, cloud.env);
    expect([result.code, result.out, result.err]).toEqual([code, '', expect.stringMatching(err)]);
  });

  test('an address without a listener', async () => {
    const gone = await openCloud(() => empty);
    await gone.close();
    expect(await run(list, { ...gone.env, HC_ACCESS_TOKEN: 'x' })).toEqual({
      code: 3,
      out: '',
      err: `The API cannot be reached at ${gone.url} (ECONNREFUSED). Check the address, and whether the platform runs.\n`,
    });
    expect((await run(list, gone.env)).err).toMatch(/^The token endpoint cannot be reached at /);
  });

  test('an API that does not answer', async () => {
    const { code, err } = await unanswered(`--timeout-ms 100 ${list}`);
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(/^The API at http:\S+ did not answer within 100 ms\./),
    ]);
  });

  test('a change with an unknown outcome is reported with its key, which repeats the change safely', async () => {
    const { code, err } = await unanswered('--timeout-ms 100 deliveries redeliver n-1');
    expect(code).toBe(3);
    const key = /--idempotency-key ([\w-]{36})\n$/.exec(err)?.[1];
    expect(cloud?.asked.at(-1)?.headers['idempotency-key']).toBe(key);
  });

  test('a failure of the token endpoint is not reported as a change with an unknown outcome', async () => {
    cloud = await openCloud(
      () => empty,
      () => ({ status: 503 }),
    );
    expect(await run('deliveries redeliver n-1', cloud.env)).toEqual({
      ...{ code: 3, out: '', err: `The token endpoint ${cloud.url}/token answers 503.\n` },
    });
    await cloud.close();
    cloud = await openCloud(
      () => empty,
      () => undefined,
    );
    const time = createFakeTime();
    const result = run('--timeout-ms 100 deliveries redeliver n-1', cloud.env, { time });
    await waitFor('the call', () => cloud?.asked.length === 1);
    await time.advance(100);
    const { code, err } = await result;
    expect([code, err]).toEqual([
      3,
      `The token endpoint at ${cloud.url}/token did not answer within 100 ms. Check the address, and whether the platform runs.\n`,
    ]);
  });

  test('a scope that the client is not allowed to use', async () => {
    cloud = await openCloud(
      () => empty,
      () => ({ status: 400, body: { error: 'invalid_scope', error_description: 'no\u001b[31m' } }),
    );
    const { code, err } = await run(list, cloud.env);
    expect([code, err]).toEqual([
      4,
      `The token endpoint ${cloud.url}/token does not give the client client-1 the scope cws:application:read. Ask for the scope to be allowed (400, invalid_scope: no\\u001b[31m).\n`,
    ]);
  });
});

test('a revoked token is replaced once, with only the scopes of the command', async () => {
  let calls = 0;
  cloud = await openCloud(() => (++calls === 1 ? { status: 401, body: { message: 'Unauthorized' } } : empty));
  expect((await run(list, cloud.env)).code).toBe(0);
  const tokens = cloud.asked.filter(({ url }) => url === '/token');
  expect(tokens.map(({ body }) => new URLSearchParams(body).get('scope'))).toEqual([
    'cws:application:read',
    'cws:application:read',
  ]);
});

test('a call over the rate limit is retried after the time that the API returns', async () => {
  let calls = 0;
  cloud = await openCloud(() =>
    ++calls === 1 ? { status: 429, headers: { 'retry-after': '1' }, body: { message: 'Too many' } } : empty,
  );
  const time = createFakeTime();
  const sleep = jest.spyOn(time, 'sleep');
  const answer = run(list, cloud.env, { time });
  await waitFor('the wait', () => sleep.mock.calls.length === 1);
  await time.advance(999);
  expect(time.timers).toBe(1);
  await time.advance(1);
  expect((await answer).code).toBe(0);
  expect(calls).toBe(2);
});

// protects against hc/redirect
test('redirects are not followed with the token or the secret', async () => {
  const heard: unknown[] = [];
  const other = createServer((request, response) => {
    heard.push(request.headers);
    response.end('{}');
  });
  const location = await listening(other);
  const moved = { status: 307, headers: { location } };
  cloud = await openCloud(() => moved);
  expect(await run(list, cloud.env)).toMatchObject({
    code: 3,
    err: expect.stringContaining('not the API: status 307'),
  });
  await cloud.close();
  cloud = await openCloud(
    () => empty,
    () => moved,
  );
  expect((await run(list, cloud.env)).code).toBe(4);
  expect(heard).toEqual([]);
  await closed(other);
});

test('ids from others cannot leave the path of the application', async () => {
  cloud = await openCloud(() => ({ status: 404, body: { message: 'none' } }));
  const api = createApi(
    { apiUrl: cloud.url, tokenUrl: `${cloud.url}/token`, applicationId: application },
    { scopes: [], timeoutMs: 10_000 },
  );
  await expect(api.get('/x')).rejects.toThrow('none');
  await run(['deliveries', 'show', '../../other/deliveries/1?x=#'], cloud.env);
  expect(cloud.asked.at(-1)?.url).toBe(
    `/v1/applications/${application}/deliveries/..%2F..%2Fother%2Fdeliveries%2F1%3Fx%3D%23`,
  );
});
