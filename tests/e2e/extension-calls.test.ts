import { randomBytes } from 'node:crypto';
import { allScopes, createApiClient } from '@headset-cloud/demo/api.ts';
import { type JsonObject, readDocument } from '@headset-cloud/gateway/openapi/document.ts';
import {
  contractChecked,
  createTenant,
  describeOnStack,
  newIssuerClient,
  stack,
  type Tenant,
} from './harness.ts';
import { extensionRoutes } from './routes.ts';
import { goodClaims, issuerKey, plain, sign } from './tokens.ts';

describeOnStack('the calls of the extensions', () => {
  let tenant: Tenant;
  let otherTenant: Tenant;
  let app: string;
  const routes = extensionRoutes();
  beforeAll(async () => {
    tenant = await createTenant();
    otherTenant = await createTenant();
    app = `/v1/applications/${tenant.applicationId}`;
  });
  afterAll(() => Promise.all([tenant.close(), otherTenant.close()]));

  // proves ext/contract/refusals
  // protects against rest/token-none, rest/token-expired
  it('answer 401 without a token, with an expired token and with an invalid one', async () => {
    const { privateKey } = issuerKey();
    const ended = { ...goodClaims(tenant.clientId), exp: Math.floor(Date.now() / 1000) - 120 };
    const token = sign(ended, { key: privateKey, format: 'jwk' } as never, 'RS256', { kid: privateKey.kid });
    for (const { method, path, body } of routes) {
      for (const authorization of [undefined, 'Bearer a.b.c', `Bearer ${token}`]) {
        const answer = await plain(
          method,
          app + path,
          { ...(authorization && { authorization }), 'content-type': 'application/json' },
          body && JSON.stringify(body),
        );
        expect([method, path, answer.status]).toEqual([method, path, 401]);
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      }
    }
  });

  // protects against rest/scope
  it('need their scope, and nothing else', async () => {
    const scopes = allScopes.split(' ');
    for (const { method, path, body, scope, answers } of routes) {
      const without = tenant.apiWith(scopes.filter((one) => one !== scope).join(' '));
      const refused = await without.app(method, path, body);
      expect([path, refused.status, refused.body]).toEqual([
        path,
        403,
        { message: `The access token lacks the scope ${scope}.` },
      ]);
      const { status } = await tenant.apiWith(scope).app(method, path, body);
      expect([method, path, answers]).toEqual([method, path, expect.arrayContaining([status])]);
    }
  });

  // protects against rest/other-application
  it('of an application of another developer are 403, as for an application that does not exist', async () => {
    for (const applicationId of [tenant.applicationId, `none-${randomBytes(4).toString('hex')}`]) {
      for (const { method, path, body } of routes) {
        const answer = await otherTenant.api.call(method, `/v1/applications/${applicationId}${path}`, body);
        expect([path, answer.status, answer.body]).toEqual([
          path,
          403,
          { message: 'The application is not registered.' },
        ]);
      }
    }
  });

  it('of a client without a developer are 500, as specified', async () => {
    const access = { apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId: tenant.applicationId };
    const api = contractChecked(createApiClient({ ...access, ...newIssuerClient() }), tenant.applicationId);
    for (const { method, path, body } of routes) {
      const answer = await api.app(method, path, body);
      expect([answer.status, answer.body]).toEqual([500, { message: 'The developer is not registered.' }]);
    }
    await api.close();
  });

  // protects against rest/path-unknown
  it('have no other method: 403, before the token is checked', async () => {
    for (const path of new Set(routes.map((route) => route.path))) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND']) {
        if (routes.some((route) => route.path === path && route.method === method)) continue;
        const answer = await plain(method, app + path);
        expect([path, method, answer.status]).toEqual([path, method, 403]);
      }
    }
  });

  // proves ext/catalogue/event-types
  it('event_types: every type of a callback, with its setting, schema and examples', async () => {
    const { eventTypes } = (await tenant.call(200, 'GET', '/event_types')).body;
    const described = (['cws_notification', 'cws_extension'] as const).flatMap((name) =>
      Object.values(readDocument(name)['webhooks'] as JsonObject),
    );
    expect(eventTypes.map((one: { type: string }) => one.type)).toEqual(
      described.map((item) => ((item as JsonObject)['post'] as JsonObject)['operationId']),
    );
    expect(eventTypes.find((one: { type: string }) => one.type === 'notify-sora-event')).toMatchObject({
      destination: 'soraEvent',
      schema: { $schema: 'https://json-schema.org/draft/2020-12/schema' },
      examples: [{ name: 'created', body: { operationId: 'notify-sora-event' } }],
    });
  });
});
