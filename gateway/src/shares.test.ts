import { BlockList } from 'node:net';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deviceId } from './testing/fakes.ts';
import { startTestGateway, type TestGateway } from './testing/gateway.ts';

let gateway: TestGateway;
beforeEach(async () => {
  // No time passes, so no rate refills during the calls on a slow machine.
  gateway = await startTestGateway({}, { time: createFakeTime() });
});
afterEach(() => gateway.stop());

const generous = { callsPerSecond: 1000, callsBurst: 1000, callsUnderWay: 100, deviceChangesPerSecond: 100 };
const limited = (limits: Partial<typeof generous>) => {
  gateway.fakes.answers = { authorizeApplication: async () => ({ limits: { ...generous, ...limits } }) };
};
const status = '/v1/applications/app-1/devices/status';
const reset = `/v1/applications/app-1/devices/${deviceId}/reset`;

test('a client over its rate gets 429 with Retry-After and the reason; another client does not', async () => {
  limited({ callsPerSecond: 1, callsBurst: 2 });
  const answers = await Promise.all(Array.from({ length: 8 }, () => gateway.request('GET', status)));
  const refused = answers.filter((one) => one.status === 429);
  expect(answers.filter((one) => one.status === 200).length).toBe(2);
  expect(refused.length).toBe(6);
  const [answer] = refused as [(typeof answers)[number]];
  expect(answer.text).toBe('{"message":"Too many calls: at most 1 a second."}');
  expect(answer.headers).toMatchObject({
    'retry-after': '1',
    'ratelimit-policy': '"calls";q=1;w=1',
    ratelimit: '"calls";r=0;t=1',
  });
  const authorization = `Bearer ${gateway.token({ client_id: 'client-2' })}`;
  expect((await gateway.request('GET', status, { headers: { authorization } })).status).toBe(200);
  expect(await gateway.metrics.getSingleMetricAsString('headset_gateway_limited_total')).toContain(
    '{limit="calls"} 6',
  );
});

test('a call over the limit does not reach a service, and a call without scope does not count', async () => {
  limited({ callsPerSecond: 1, callsBurst: 1 });
  const authorization = `Bearer ${gateway.token({ scope: '' })}`;
  expect((await gateway.request('GET', status, { headers: { authorization } })).status).toBe(403);
  expect((await gateway.request('GET', status)).status).toBe(200);
  gateway.fakes.seen.length = 0;
  // The path's own error, 404, comes after the limit.
  expect((await gateway.request('PUT', '/v1/applications/app-1/devices/no-imei/reset')).status).toBe(429);
  expect(gateway.fakes.seen.filter(({ rpc }) => !rpc.startsWith('authorize'))).toEqual([]);
});

// protects against rest/call-flood
test('concurrent calls are limited until they end', async () => {
  limited({ callsUnderWay: 2 });
  const held = Promise.withResolvers<void>();
  gateway.fakes.answers.listDeviceStatuses = async () => {
    await held.promise;
    return { statuses: [], more: false };
  };
  const asked = () => gateway.fakes.seen.filter(({ rpc }) => rpc === 'listDeviceStatuses').length;
  const first = [gateway.request('GET', status), gateway.request('GET', status)];
  await waitFor('both calls at the service', () => asked() === 2);
  const answer = await gateway.request('GET', status);
  expect(answer.status).toBe(429);
  expect(answer.headers['ratelimit-policy']).toBe('"calls-under-way";q=2;qu="concurrent-requests"');
  held.resolve();
  expect((await Promise.all(first)).map((one) => one.status)).toEqual([200, 200]);
  expect((await gateway.request('GET', status)).status).toBe(200);
});

test('changing calls are limited for each device, reads are not', async () => {
  limited({ deviceChangesPerSecond: 1 });
  const resets = async () => (await gateway.request('PUT', reset)).status;
  expect([await resets(), await resets()]).toEqual([201, 201]);
  const answer = await gateway.request('PUT', reset);
  expect(answer.status).toBe(429);
  expect(answer.headers['ratelimit-policy']).toBe('"device-changes";q=1;w=1');
  expect((await gateway.request('PUT', reset.replace(deviceId, '350000000000014'))).status).toBe(201);
  expect((await gateway.request('GET', `/v1/applications/app-1/devices/${deviceId}`)).status).toBe(200);
});

test('with an older devices service that returns no limits there are none', async () => {
  gateway.fakes.answers = { authorizeApplication: async () => ({}) };
  for (let i = 0; i < 50; i++) expect((await gateway.request('GET', status)).status).toBe(200);
});

// protects against rest/unknown-flood
describe('applications that are not the client’s', () => {
  const ask = (id: string, client = 'client-1') => {
    const authorization = `Bearer ${gateway.token({ client_id: client })}`;
    return gateway.request('GET', `/v1/applications/${id}/devices/status`, { headers: { authorization } });
  };
  const asked = () => gateway.fakes.seen.filter(({ rpc }) => rpc === 'authorizeApplication').length;
  beforeEach(() => {
    gateway.fakes.answers = {
      authorizeApplication: async ({ applicationId }) => {
        if (applicationId !== 'app-1') throw new DomainError('application_forbidden', 'No such application.');
        return { limits: generous };
      },
    };
  });

  test('are looked up at a low rate; calls for the client’s own and other clients’ applications continue', async () => {
    expect((await ask('app-1')).status).toBe(200);
    gateway.fakes.seen.length = 0;
    const answers = await Promise.all(Array.from({ length: 500 }, (_, n) => ask(`nope-${n}`)));
    const limitedOnes = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 403).length).toBe(500 - limitedOnes.length);
    expect(limitedOnes.length).toBe(300);
    expect(asked()).toBe(500 - limitedOnes.length);
    expect(limitedOnes[0]?.headers).toMatchObject({
      'retry-after': '1',
      'ratelimit-policy': '"refused-calls";q=50;w=1',
    });
    expect((await ask('app-1')).status).toBe(200);
    expect((await ask('app-1', 'client-2')).status).toBe(200);
  });
});

describe('every 429 is counted by its policy, and its log line has the source', () => {
  const counted = async (policy: string) => {
    const text = await gateway.metrics.getSingleMetricAsString('headset_gateway_limited_total');
    return Number(new RegExp(`limit="${policy}"\\} (\\d+)`).exec(text)?.[1]);
  };

  test('of a service', async () => {
    const full = (policy: string) => async (): Promise<never> => {
      throw new DomainError('too_many_requests', 'Too many.', { limit: { policy, quota: 7 } });
    };
    expect(await counted('device-unprocessed')).toBe(0);
    expect(await counted('open-uploads')).toBe(0);
    gateway.fakes.answers.resetDevice = full('device-unprocessed');
    for (let i = 0; i < 3; i++) expect((await gateway.request('PUT', reset)).status).toBe(429);
    expect(await counted('device-unprocessed')).toBe(3);
    expect(await counted('calls')).toBe(0);
  });

  test('of the gateway’s own limits, each once', async () => {
    limited({ deviceChangesPerSecond: 1 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.request('PUT', reset)));
    const refused = answers.filter((one) => one.status === 429).length;
    // A burst is the amount of two seconds of the rate.
    expect(refused).toBe(18);
    expect(await counted('device-changes')).toBe(18);
  });
});

describe('the log line of an answer has the address of the caller', () => {
  const lineOf = (status: number) => gateway.logs.find((line) => line['status'] === status);

  // protects against rest/address-spoofed
  test.each([
    ['its own, if no proxy is trusted', new BlockList(), '127.0.0.1'],
    ['the address from a trusted proxy', trusted(), '192.0.2.7'],
  ])('401 and 429: %s', async (_, proxies, address) => {
    await gateway.stop();
    gateway = await startTestGateway({}, { proxies, time: createFakeTime() });
    limited({ callsPerSecond: 1, callsBurst: 1 });
    const forwarded = { 'x-forwarded-for': '203.0.113.9, 192.0.2.7' };
    const none = await gateway.request('GET', status, {
      headers: { ...forwarded, authorization: undefined },
    });
    expect(none.status).toBe(401);
    const many = await Promise.all(
      Array.from({ length: 8 }, () => gateway.request('GET', status, { headers: forwarded })),
    );
    expect(many.map((one) => one.status)).toContain(429);
    expect(lineOf(401)).toMatchObject({ address });
    expect(lineOf(429)).toMatchObject({ address, clientId: 'client-1' });
    // The client id identifies successful callers.
    expect(lineOf(200)).not.toHaveProperty('address');
  });
});

function trusted(): BlockList {
  const list = new BlockList();
  list.addAddress('127.0.0.1');
  return list;
}
