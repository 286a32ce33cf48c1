import { DomainError, type ErrorCode, errorCatalogue } from '@headset-cloud/runtime/errors.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from './testing/fakes.ts';
import { useGateway } from './testing/suite.ts';

const suite = useGateway();

const app = '/v1/applications/app-1';
const device = `${app}/devices/${deviceId}`;
const commands = `${device}/commands`;
const command = '{"launchType":"activity","package":"com.example.app"}';
const message = (text: string) => JSON.parse(text).message as string;

// proves api/8/403-url
describe('paths and methods (rule A3)', () => {
  test.each([
    ['GET', '/'],
    ['GET', '/v1'],
    ['GET', '/v1/applications'],
    ['GET', `${app}/`],
    ['GET', '/V1/applications/app-1'],
    ['GET', '/v1/applications//devices/status'],
    ['GET', `${app}/unknown`],
    ['PUT', `${device}/settings/apns`],
    ['PATCH', `${device}/settings/apn`],
    ['GET', `${device}/connectivity/bluetooth`],
    ['POST', `${device}/connectivity/wifi`],
    ['DELETE', `${device}/package`],
    ['GET', `/v1/devices/${deviceId}`],
    ['DELETE', app],
    ['HEAD', app],
    ['OPTIONS', app],
    ['POST', commands],
    ['PUT', device],
    ['HEAD', device],
  ])('%s %s is 403 without a token', async (method, path) => {
    const answer = await suite.gateway.request(method, path, { headers: { authorization: undefined } });
    expect(answer.status).toBe(403);
  });

  const others = ['HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'];
  // proves api/7/status-405, api/8/405
  test.each(
    others.flatMap((m) =>
      [`${app}/devices/status`, `${device}/status`, `${app}/devices/x/status`].map((p) => [m, p] as const),
    ),
  )('%s %s is 405 without a token', async (method, path) => {
    const answer = await suite.gateway.request(method, path, { headers: { authorization: undefined } });
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe('GET');
  });

  test('TRACE on a status path is 405', async () => {
    const answer = await suite.gateway.raw(
      `TRACE ${app}/devices/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
  });
});

describe('order of checks (rule A3): the first error counts', () => {
  const bad = '/v1/applications/app-2/devices/x/commands';
  const body = '{';
  // proves api/8/401
  test('401 before everything else', async () => {
    const answer = await suite.gateway.request('PUT', bad, { body, headers: { authorization: 'Bearer x' } });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer error="invalid_token"/);
  });
  // proves api/6/bearer
  test.each([undefined, 'Basic YTpi', 'Bearer', 'Bearer a b'])(
    'Authorization %p is 401',
    async (authorization) => {
      expect((await suite.gateway.request('GET', app, { headers: { authorization } })).status).toBe(401);
    },
  );
  test('scope before developer', async () => {
    const authorization = `Bearer ${suite.gateway.token({ scope: 'cws:device:read', client_id: 'unregistered' })}`;
    const answer = await suite.gateway.request('PUT', bad, { body, headers: { authorization } });
    expect(answer.status).toBe(403);
    expect(answer.headers['www-authenticate']).toContain('scope="cws:device:write"');
    expect(suite.gateway.fakes.seen).toEqual([]);
  });
  test('developer before application, path and body', async () => {
    const authorization = `Bearer ${suite.gateway.token({ client_id: 'unregistered' })}`;
    const answer = await suite.gateway.request('PUT', bad, { body, headers: { authorization } });
    expect(answer.status).toBe(500);
    expect(answer.headers['retry-after']).toBeUndefined();
  });
  test('application before path and body', async () => {
    expect((await suite.gateway.request('PUT', bad, { body })).status).toBe(403);
  });
  test('path parameter before query and body', async () => {
    const answer = await suite.gateway.request('PUT', `${app}/devices/x/commands`, { body });
    expect(answer.status).toBe(404);
    expect(message(answer.text)).toContain('deviceId');
  });
  test('body before errors of the devices service', async () => {
    suite.gateway.fakes.answers.sendOperation = async () => {
      throw new DomainError('device_not_activated', 'The device is not activated.');
    };
    expect((await suite.gateway.request('PUT', commands, { body })).status).toBe(400);
    expect((await suite.gateway.request('PUT', commands, { body: command })).status).toBe(403);
  });
  test('the token is checked before the size of the body', async () => {
    const large = 'x'.repeat(70_000);
    const without = { authorization: undefined };
    expect((await suite.gateway.request('PUT', commands, { body: large, headers: without })).status).toBe(
      401,
    );
    expect((await suite.gateway.request('PUT', commands, { body: large })).status).toBe(413);
  });
});

// proves api/1/scope-per-operation, api/6/applications-read, api/6/applications-write, api/6/devices-read
// proves api/6/devices-write, api/6/communication-service
test.each([
  ['GET', app, 'cws:application:read'],
  ['PATCH', app, 'cws:application:write'],
  ['POST', `${app}/refresh_authkey`, 'cws:application:write'],
  ['GET', device, 'cws:device:read'],
  ['POST', device, 'cws:device:write'],
  ['DELETE', device, 'cws:device:write'],
  ['GET', `${device}/status`, 'cws:device:read'],
  ['GET', `${app}/devices/status`, 'cws:device:read'],
  ['PUT', commands, 'cws:device:write'],
  ['GET', `${app}/transactions`, 'cws:application:read'],
  ['GET', `${app}/transactions/1`, 'cws:application:read'],
  ['DELETE', `${device}/transactions`, 'cws:application:write'],
  ['GET', `/v1/devices/${deviceId}/hardware-properties`, 'cws:device:read'],
  ['PUT', `${device}/settings/apn`, 'cws:device:write'],
  ['PUT', `${device}/settings/wifi`, 'cws:device:write'],
  ['PUT', `${device}/settings/lang`, 'cws:device:write'],
  ['PUT', `${device}/apps`, 'cws:device:write'],
  ['PUT', `${device}/firmware`, 'cws:device:write'],
  ['PUT', `${device}/reset`, 'cws:device:write'],
  ['PUT', `${device}/apps/launcher/keys`, 'cws:device:write'],
  ['DELETE', `${device}/package/a.b`, 'cws:device:write'],
  ['GET', `${app}/apps`, 'cws:application:read'],
  ['POST', `${app}/apps`, 'cws:application:write'],
  ['GET', `${app}/firmware`, 'cws:application:read'],
  ['GET', `${app}/billing?month=1&year=2026`, 'cws:application:read'],
  ['POST', `${app}/channels`, 'cws:communication-service'],
  ['GET', `${app}/sora/versions`, 'cws:communication-service'],
  ['GET', `${device}/connectivity`, 'cws:device:read'],
  ['GET', `${device}/connectivity/bluetooth/state`, 'cws:device:read'],
  ['PUT', `${device}/connectivity/bluetooth/state`, 'cws:device:write'],
  ['DELETE', `${device}/connectivity/bluetooth/reset`, 'cws:device:write'],
  ['POST', `${device}/connectivity/bluetooth`, 'cws:device:write'],
  ['PUT', `${device}/connectivity/bluetooth`, 'cws:device:write'],
  ['DELETE', `${device}/connectivity/bluetooth`, 'cws:device:write'],
])('%s %s needs the scope %s', async (method, path, scope) => {
  const authorization = `Bearer ${suite.gateway.token({ scope: 'other' })}`;
  const answer = await suite.gateway.request(method, path, { headers: { authorization } });
  expect(answer.status).toBe(403);
  expect(answer.headers['www-authenticate']).toBe(`Bearer error="insufficient_scope", scope="${scope}"`);
  const enough = { authorization: `Bearer ${suite.gateway.token({ scope })}` };
  expect((await suite.gateway.request(method, path, { headers: enough })).status).not.toBe(403);
});

// proves api/8/404-parameter
// proves api/1/imei
test.each(['35000000000000', '3500000000000006', '35000000000000a', '３５0000000000006', '%00', 'status'])(
  'the device id %p is 404',
  async (id) => {
    expect((await suite.gateway.request('DELETE', `${app}/devices/${id}/transactions`)).status).toBe(404);
  },
);

test.each(['0', '-1', '1.0', '1e3', '01x', 'x', '9007199254740992', '99999999999999999999'])(
  'the transaction id %p is 404',
  async (id) => {
    expect((await suite.gateway.request('GET', `${app}/transactions/${id}`)).status).toBe(404);
    expect(suite.gateway.fakes.seen.filter((s) => s.rpc === 'getTransaction')).toEqual([]);
  },
);

describe('errors of the services', () => {
  const codes = Object.keys(errorCatalogue) as ErrorCode[];
  // Errors that only the gateway itself returns.
  const own = ['method_not_allowed', 'unauthenticated', 'body_too_large'];
  // proves api/3/error, api/8/shape, api/8/500-database, api/8/500-developer
  test.each(codes.filter((c) => !own.includes(c)))(
    '%s has its status, its message and nothing else',
    async (code) => {
      suite.gateway.fakes.answers.sendOperation = async () => {
        const limit = code === 'too_many_requests' ? { policy: 'calls', quota: 1 } : undefined;
        throw new DomainError(code, 'A public message.', {
          ...{ internal: 'secret', cause: new Error('secret') },
          ...(limit && { limit }),
        });
      };
      const answer = await suite.gateway.request('PUT', commands, { body: command });
      expect(answer.status).toBe(errorCatalogue[code].http);
      expect(JSON.parse(answer.text)).toEqual({
        message: code === 'invalid_body' ? 'Invalid request body' : 'A public message.',
      });
      const waits = [429, 503].includes(answer.status) || code === 'database_failed';
      expect(answer.headers['retry-after']).toBe(waits ? '1' : undefined);
    },
  );

  test('Retry-After is in whole seconds, rounded up', async () => {
    suite.gateway.fakes.answers.sendOperation = async () => {
      throw new DomainError('database_failed', 'The database failed.', { retryAfterMs: 2001 });
    };
    expect((await suite.gateway.request('PUT', commands, { body: command })).headers['retry-after']).toBe(
      '3',
    );
  });

  // protects against rest/errors-disclosure
  test('an error other than DomainError reveals no details', async () => {
    suite.gateway.fakes.answers.sendOperation = async () => {
      throw new Error('mongodb://user:password@host');
    };
    const answer = await suite.gateway.request('PUT', commands, { body: command });
    expect([answer.status, answer.text]).toEqual([500, '{"message":"Internal error."}']);
  });
});

describe('ownership', () => {
  test('is checked once for many requests, and again for another application', async () => {
    const headers = { authorization: `Bearer ${suite.gateway.token({ client_id: 'fresh' })}` };
    await Promise.all(Array.from({ length: 20 }, () => suite.gateway.request('GET', app, { headers })));
    await suite.gateway.request('GET', '/v1/applications/app-3', { headers });
    expect(suite.gateway.fakes.seen.filter((s) => s.rpc === 'authorizeApplication')).toHaveLength(2);
  });
  test('a rejection is not cached', async () => {
    const headers = { authorization: `Bearer ${suite.gateway.token({ client_id: 'later' })}` };
    suite.gateway.fakes.answers.authorizeApplication = async () => {
      throw new DomainError('application_forbidden', 'No such application.');
    };
    expect((await suite.gateway.request('GET', app, { headers })).status).toBe(403);
    suite.gateway.fakes.answers = {};
    expect((await suite.gateway.request('GET', app, { headers })).status).toBe(200);
  });
});

describe('X-Request-Id', () => {
  test.each(['abc', 'A.b_c-9', 'x'.repeat(128)])('%p is used', async (id) => {
    const answer = await suite.gateway.request('GET', app, { headers: { 'x-request-id': id } });
    expect(answer.headers['x-request-id']).toBe(id);
  });
  // protects against rest/header-injection, rest/log-injection
  test.each(['', 'x'.repeat(129), 'a b', 'a"b', 'ä'])('%p is replaced', async (id) => {
    const answer = await suite.gateway.request('GET', app, { headers: { 'x-request-id': id } });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('observability', () => {
  // protects against rest/log-disclosure
  test('a request is one log line with its route and ids, without body, token or query', async () => {
    suite.gateway.logs.length = 0;
    const secret = '{"mimiClientId":"m-1","mimiClientSecret":"hush-hush"}';
    await suite.gateway.request('POST', `${device}?q=hush-hush`, {
      body: secret,
      headers: { 'x-request-id': 'r-1' },
    });
    const lines = suite.gateway.logs.filter((l) => l['requestId'] === 'r-1');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      method: 'POST',
      route: '/v1/applications/{applicationId}/devices/{deviceId}',
      status: 201,
      durationMs: expect.any(Number),
      clientId: 'client-1',
    });
    expect(JSON.stringify(suite.gateway.logs)).not.toMatch(/hush-hush|Bearer|eyJ/);
  });
  test("the age of the issuer's keys is measured", async () => {
    await suite.gateway.request('GET', app);
    const text = await suite.gateway.metrics.getSingleMetricAsString(
      'headset_gateway_issuer_keys_age_seconds',
    );
    const age = Number(/^headset_gateway_issuer_keys_age_seconds (\S+)$/m.exec(text)?.[1]);
    expect(age).toBeGreaterThanOrEqual(0);
    expect(age).toBeLessThan(600);
  });
  test('requests are measured by route, method and status, unknown paths as one route', async () => {
    await suite.gateway.request('GET', '/v1/nonsense');
    await suite.gateway.request('GET', app);
    const text = await suite.gateway.metrics.metrics();
    expect(text).toContain(
      'headset_gateway_request_duration_seconds_count{route="/v1/applications/{applicationId}",method="GET",status="200"}',
    );
    expect(text).toContain('{route="unknown",method="GET",status="403"}');
    expect(text).not.toContain('nonsense');
  });
});
