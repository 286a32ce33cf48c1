import { createHmac, createPrivateKey, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { allScopes, createApiClient } from '@headset-cloud/demo/api.ts';
import {
  contractChecked,
  createTenant,
  describeOnStack,
  imei,
  newIssuerClient,
  stack,
  type Tenant,
} from './harness.ts';
import { everyRoute, type Route } from './routes.ts';
import { goodClaims, issuerKey, plain, sign } from './tokens.ts';

describeOnStack('tokens and tenants', () => {
  let tenant: Tenant;
  let otherTenant: Tenant;
  let routes: Route[];
  let app: string;
  /** All data of the tenant, as the tenant reads it. */
  const everything = async () => [
    (await tenant.call(200, 'GET', '')).body,
    (await tenant.call(200, 'GET', `/devices/${tenant.devices[0]?.deviceId}`)).body,
    await tenant.transactions(),
  ];
  beforeAll(async () => {
    tenant = await createTenant();
    otherTenant = await createTenant();
    app = `/v1/applications/${tenant.applicationId}`;
    const transactionId = await tenant.activate();
    routes = everyRoute(tenant.devices[0]?.deviceId ?? '', transactionId, `app-${tenant.applicationId}`);
  });
  afterAll(() => Promise.all([tenant.close(), otherTenant.close()]));

  describe('an access token', () => {
    const now = Math.floor(Date.now() / 1000);
    const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const genuine = (more: Record<string, unknown>, header: Record<string, unknown> = {}) => {
      const { privateKey } = issuerKey();
      const key = { key: privateKey, format: 'jwk' };
      return sign({ ...goodClaims(tenant.clientId), ...more }, key as never, 'RS256', {
        kid: privateKey.kid,
        ...header,
      });
    };
    const hs256 = (secret: string | Buffer) => {
      const text = `${b64({ alg: 'HS256', typ: 'JWT', kid: issuerKey().privateKey.kid })}.${b64(goodClaims(tenant.clientId))}`;
      return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
    };

    /** A token of the issuer's key, also with claims that the library would not sign. */
    const rs256 = (claims: object) => {
      const { privateKey } = issuerKey();
      const text = `${b64({ alg: 'RS256', typ: 'at+jwt', kid: privateKey.kid })}.${b64(claims)}`;
      const key = createPrivateKey({ key: privateKey, format: 'jwk' });
      return `${text}.${createSign('sha256').update(text).sign(key, 'base64url')}`;
    };

    // protects against rest/token-elsewhere
    it('counts in the Authorization header only: not in a query, a body, a cookie or another header', async () => {
      const token = genuine({});
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      for (const answer of [
        await plain('GET', `${app}?access_token=${token}&token=${token}`),
        await plain('POST', `${app}/refresh_authkey`, form, `access_token=${token}`),
        await plain('GET', app, { cookie: `access_token=${token}; Authorization=Bearer ${token}` }),
        await plain('GET', app, { 'proxy-authorization': `Bearer ${token}`, 'x-access-token': token }),
      ])
        expect(answer.status).toBe(401);
    });

    it.each<[string, () => string]>([
      ['made by the issuer', () => genuine({})],
      ['that ended within the leeway', () => genuine({ exp: now - 20 })],
      ['of an issuer with a clock ahead within the leeway', () => genuine({ iat: now + 40, nbf: now + 40 })],
      ['without an issue time', () => genuine({ iat: undefined })],
      ['for several audiences, one of them this', () => genuine({ aud: ['x', 'urn:headset-cloud:api'] })],
      ['made by hand with the issuer’s key', () => rs256(goodClaims(tenant.clientId))],
      ['with azp instead of client_id', () => genuine({ client_id: undefined, azp: tenant.clientId })],
    ])('%s is accepted (so the rejections below have their own reasons)', async (_, token) => {
      expect((await plain('GET', app, { authorization: `Bearer ${token()}` })).status).toBe(200);
    });

    // protects against rest/token-none, rest/token-unsigned, rest/token-confusion, rest/token-foreign-key
    // protects against rest/token-key-id, rest/token-altered, rest/token-expired, rest/token-future, rest/token-issuer
    // protects against rest/token-audience, rest/token-client, rest/token-huge
    it.each<[string, () => string | undefined]>([
      ['none', () => undefined],
      ['an empty header', () => ''],
      ['Basic', () => `Basic ${Buffer.from('a:b').toString('base64')}`],
      ['Bearer without a token', () => 'Bearer '],
      ['two tokens', () => `Bearer ${genuine({})} ${genuine({})}`],
      ['garbage', () => 'Bearer garbage'],
      ['garbage of three parts', () => 'Bearer a.b.c'],
      ['a header that is no object', () => `Bearer ${b64(null)}.${b64({})}.x`],
      ['expired', () => `Bearer ${genuine({ exp: now - 120 })}`],
      ['not valid yet', () => `Bearer ${genuine({ nbf: now + 300 })}`],
      ['issued in the future', () => `Bearer ${genuine({ iat: now + 300 })}`],
      ['without an expiry', () => `Bearer ${genuine({ exp: undefined })}`],
      ['for another audience', () => `Bearer ${genuine({ aud: 'urn:other' })}`],
      ['without an audience', () => `Bearer ${genuine({ aud: undefined })}`],
      ['naming another issuer', () => `Bearer ${genuine({ iss: 'https://id.example.com' })}`],
      ['without an issuer', () => `Bearer ${genuine({ iss: undefined })}`],
      ['without a client', () => `Bearer ${genuine({ client_id: undefined })}`],
      ['with an object as client', () => `Bearer ${genuine({ client_id: { $ne: '' } })}`],
      ['unsigned (alg none)', () => `Bearer ${b64({ alg: 'none' })}.${b64(goodClaims(tenant.clientId))}.`],
      ['alg None', () => `Bearer ${b64({ alg: 'None' })}.${b64(goodClaims(tenant.clientId))}.`],
      [
        'HS256 under the public key (PEM)',
        () => `Bearer ${hs256(issuerKey().publicKey.export({ type: 'spki', format: 'pem' }))}`,
      ],
      [
        'HS256 under the public key (DER)',
        () => `Bearer ${hs256(issuerKey().publicKey.export({ type: 'spki', format: 'der' }))}`,
      ],
      [
        'signed by another key under the issuer’s key id',
        () =>
          `Bearer ${sign(goodClaims(tenant.clientId), foreign, 'RS256', { kid: issuerKey().privateKey.kid })}`,
      ],
      [
        'signed by another key, with that key in its header',
        () =>
          `Bearer ${sign(goodClaims(tenant.clientId), foreign, 'RS256', {
            kid: 'mine',
            jwk: foreign.export({ format: 'jwk' }),
            jku: 'http://127.0.0.1:1/jwks',
          })}`,
      ],
      ['with critical extensions', () => `Bearer ${genuine({}, { crit: ['exp'] })}`],
      [
        'with claims changed after signing',
        () => {
          const [header, , signature] = genuine({}).split('.');
          return `Bearer ${header}.${b64({ ...goodClaims(tenant.clientId), exp: now + 9999 })}.${signature}`;
        },
      ],
      ...[
        ...['../../../../dev/null', 'http://127.0.0.1:1/key', "' OR 1=1 --", '__proto__', 'x'.repeat(4000)],
        ...[{ $ne: '' }, ['a'], 1, null, '\u0000'],
      ].map((kid): [string, () => string] => [
        `under the key id ${JSON.stringify(kid).slice(0, 40)}`,
        () => `Bearer ${sign(goodClaims(tenant.clientId), foreign, 'RS256', { kid })}`,
      ]),
      ...(['exp', 'nbf', 'iat'] as const).flatMap((claim) =>
        [`${now + 600}`, [now + 600], { $gt: 0 }].map((value): [string, () => string] => [
          `whose ${claim} is ${JSON.stringify(value)}`,
          () => `Bearer ${rs256({ ...goodClaims(tenant.clientId), [claim]: value })}`,
        ]),
      ),
      ['of 9,000 characters', () => `Bearer ${genuine({ more: 'x'.repeat(9000) })}`],
    ])(
      '%s: every call is 401, names the reason without the token, and has no effect',
      async (_, authorization) => {
        const before = await everything();
        const given = authorization();
        for (const { method, path, body } of routes) {
          const answer = await plain(
            method,
            app + path,
            { ...(given !== undefined && { authorization: given }), 'content-type': 'application/json' },
            body && JSON.stringify(body),
          );
          expect(answer.status).toBe(401);
          expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
          expect(JSON.parse(answer.text)).toEqual({
            message: expect.stringMatching(/^Authentication failed/),
          });
          const token = given?.split(' ')[1]?.split('.')[1];
          if (token) expect(answer.text + answer.headers['www-authenticate']).not.toContain(token);
        }
        expect(await everything()).toEqual(before);
      },
    );
  });

  // proves api/1/scope-per-operation
  describe('scopes', () => {
    const scopes = allScopes.split(' ');
    // protects against rest/scope
    it.each(scopes)('a token without %s: 403 for exactly the calls that need it', async (missing) => {
      const api = tenant.apiWith(scopes.filter((s) => s !== missing).join(' '));
      for (const { method, path, scope, body } of routes.filter((r) => r.scope === missing)) {
        const answer = await api.app(method, path, body);
        expect([answer.status, answer.body]).toEqual([
          403,
          { message: `The access token lacks the scope ${scope}.` },
        ]);
        expect(answer.headers['www-authenticate']).toBe(
          `Bearer error="insufficient_scope", scope="${scope}"`,
        );
      }
      const safe = routes.filter((r) => r.scope !== missing && r.reads);
      for (const { method, path } of safe) expect((await api.app(method, path)).status).toBe(200);
    });

    it.each(scopes)('%s alone is enough for its calls', async (only) => {
      const own = await createTenant();
      const id = await own.activate();
      const api = own.apiWith(only);
      const mine = everyRoute(own.devices[0]?.deviceId ?? '', id, `app-${own.applicationId}`);
      for (const { method, path, body, answers } of mine.filter((r) => r.scope === only)) {
        const { status } = await api.app(method, path, body);
        expect([method, path, answers]).toEqual([method, path, expect.arrayContaining([status])]);
      }
      await own.close();
    });
  });

  describe('another tenant', () => {
    // proves api/8/403-application
    // protects against rest/other-application
    it('of another developer gets 403 on every call of the application, as for an unknown application', async () => {
      const before = await everything();
      for (const applicationId of [tenant.applicationId, `none-${randomBytes(4).toString('hex')}`]) {
        for (const { method, path, body } of routes) {
          const answer = await otherTenant.api.call(method, `/v1/applications/${applicationId}${path}`, body);
          expect([answer.status, answer.body]).toEqual([
            403,
            { message: 'The application is not registered.' },
          ]);
        }
      }
      expect(await everything()).toEqual(before);
    });

    // protects against rest/other-device
    it('cannot reach a device through its own application', async () => {
      const before = await everything();
      const on = `/devices/${tenant.devices[0]?.deviceId}`;
      for (const [method, path, body] of [
        ['GET', on],
        ['GET', `${on}/status`],
        ['POST', on, { clientId: `app-${otherTenant.applicationId}` }],
        ['DELETE', on],
        ['PUT', `${on}/commands`, { package: 'a', launchType: 'activity' }],
      ] as const) {
        expect((await otherTenant.call(403, method, path, body)).body).toEqual({
          message: 'The device is activated by another application.',
        });
      }
      expect(await everything()).toEqual(before);
      expect(await otherTenant.transactions()).toEqual([]);
    });

    // protects against rest/other-cancel
    it('cannot cancel on a device that another application has activated', async () => {
      const before = await everything();
      const on = `/devices/${tenant.devices[0]?.deviceId}`;
      const answer = await otherTenant.api.app('DELETE', `${on}/transactions`);
      expect(await everything()).toEqual(before);
      // Specification API 4; cws_api.yaml documents it for this call too.
      expect([answer.status, answer.body]).toEqual([
        403,
        { message: 'The device is activated by another application.' },
      ]);
    });

    // proves api/8/500-developer
    it('without a developer: 500, as specified, also if everything else is wrong', async () => {
      const access = { apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId: tenant.applicationId };
      const api = contractChecked(createApiClient({ ...access, ...newIssuerClient() }), tenant.applicationId);
      for (const { method, path, body } of routes) {
        const answer = await api.app(method, path, body);
        expect([answer.status, answer.body]).toEqual([500, { message: 'The developer is not registered.' }]);
        expect(answer.headers['retry-after']).toBeUndefined();
      }
      // The call that names no application, also with an invalid device id (rule A3).
      for (const deviceId of [tenant.devices[0]?.deviceId, 'x']) {
        const answer = await api.call('GET', `/v1/devices/${deviceId}/hardware-properties`);
        expect([answer.status, answer.body]).toEqual([500, { message: 'The developer is not registered.' }]);
      }
      const wrong = await tenant.api.call('GET', '/v1/devices/x/hardware-properties');
      expect(wrong.status).toBe(404);
      await api.close();
    });
  });

  describe('paths', () => {
    const unknown = { message: 'There is no such path or method.' };
    // protects against rest/path-unknown
    it.each([
      ...[
        '/',
        '/v1',
        '/v1/',
        '/v1/applications',
        '/v1/applications/',
        '/v2/applications/a',
        '/metrics',
        '/livez',
      ],
      ...[
        '/v1/applications/a/',
        '/V1/applications/a',
        '/v1/applications/a/Transactions',
        '/v1//applications/a',
      ],
      ...['/v1/applications/a/nothing', '/v1/applications/a/devices', '/v1/applications/a/devices/1/nothing'],
      ...['/v1/applications/a/transactions/1/2', '/v1/applications/a/refresh_authkey/x', '/favicon.ico'],
      '/headset.devices.v1.DevicesAdminService/ListDevelopers',
    ])('%s is 403 with every method, with and without a token', async (path) => {
      const authorization = `Bearer ${await tenant.api.token()}`;
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
        for (const headers of [{}, { authorization }] as Record<string, string>[]) {
          const answer = await plain(method, path, headers);
          expect([method, answer.status]).toEqual([method, 403]);
          if (method !== 'HEAD') expect(JSON.parse(answer.text)).toEqual(unknown);
        }
      }
    });

    // protects against rest/path-unknown
    it('a method that a path does not have is 403, before the token is checked', async () => {
      const has = (path: string, method: string) =>
        routes.some((r) => r.path === path && r.method === method);
      const paths = [...new Set(routes.map((r) => r.path))].filter((p) => !p.endsWith('/status'));
      for (const path of paths) {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND']) {
          if (has(path, method)) continue;
          const answer = await plain(method, app + path);
          expect([path, method, answer.status]).toEqual([path, method, 403]);
          if (method !== 'HEAD') expect(JSON.parse(answer.text)).toEqual(unknown);
        }
      }
    });

    it('checks run in this order: path, 405, token, scope, developer, application, parameter, body, device', async () => {
      const statuses = [];
      const none = `/v1/applications/none/devices/x/commands`;
      statuses.push((await plain('GET', '/nothing', { authorization: 'x' })).status);
      statuses.push((await plain('PUT', '/v1/applications/none/devices/x/status')).status);
      statuses.push((await plain('PUT', none)).status);
      statuses.push((await tenant.apiWith('cws:device:read').call('PUT', none, 'bad')).status);
      statuses.push((await otherTenant.api.call('PUT', none, 'bad')).status);
      statuses.push((await otherTenant.api.app('PUT', '/devices/x/commands', 'bad')).status);
      statuses.push((await otherTenant.api.app('PUT', `/devices/${imei()}/commands`, 'bad')).status);
      const command = { package: 'a', launchType: 'activity' };
      statuses.push((await otherTenant.api.app('PUT', `/devices/${imei()}/commands`, command)).status);
      expect(statuses).toEqual([403, 405, 401, 403, 403, 404, 400, 403]);
    });
  });
});
