import { describe, expect, test } from '@jest/globals';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const app = '/v1/applications/app-1';
const asked = (rpc: string) =>
  suite.gateway.fakes.seen.find((s) => s.rpc === rpc)?.request as Record<string, unknown>;

describe('settings', () => {
  // proves api/3/settings-key, api/3/settings-fields, api/7/get-settings
  test('a setting that is not set is null, a key that was never issued is absent', async () => {
    const answer = await suite.gateway.request('GET', app);
    expect(JSON.parse(answer.text)).toEqual({
      deviceEvent: 'https://a.test/e',
      remoteSupportEvent: null,
      soraEvent: null,
      soraFileSendEvent: null,
      soraRecGetPresignedUrl: null,
      soraRecGetMultiPresignedUrl: null,
      fileUploadEvent: null,
      fileUploadGetUrl: null,
    });
  });

  // proves api/7/patch-settings
  test('PATCH sets given fields, removes null fields, keeps the others, and returns the read form', async () => {
    const body = '{"deviceEvent":"http://b.test/","soraEvent":null}';
    const answer = await suite.gateway.request('PATCH', app, { body });
    expect(JSON.parse(answer.text)).toMatchObject({
      authenticationKey: 'key-1',
      deviceEvent: 'http://b.test/',
    });
    expect(asked('updateSettings')).toMatchObject({
      caller: { clientId: 'client-1', applicationId: 'app-1' },
      remove: ['soraEvent'],
    });
    const { set } = asked('updateSettings') as { set: Record<string, unknown> };
    expect([set['deviceEvent'], set['soraEvent'], set['fileUploadEvent']]).toEqual([
      'http://b.test/',
      undefined,
      undefined,
    ]);
  });

  // protects against rest/scope
  test('PATCH with a token without the read scope leaves out the key', async () => {
    const answered = async (scope: string) => {
      const headers = { authorization: `Bearer ${suite.gateway.token({ scope })}` };
      const body = '{"deviceEvent":"http://b.test/"}';
      const answer = await suite.gateway.request('PATCH', app, { body, headers });
      return Object.keys(JSON.parse(answer.text));
    };
    expect(await answered('cws:application:write cws:application:read')).toContain('authenticationKey');
    const withoutKey = await answered('cws:application:write cws:device:read');
    expect(withoutKey).toContain('deviceEvent');
    expect(withoutKey).not.toContain('authenticationKey');
  });

  const long = (length: number) => `https://a.test/${'x'.repeat(length - 15)}`;
  // URL schemes are not case-sensitive (rule A22).
  test.each([
    ...[
      long(255),
      `${long(254)}\u{1f600}`,
      'http://a',
      'https://日本.test/パス?q=1#f',
      'https://u:p@a.test:8443/',
    ],
    ...['HTTP://a.test/', 'hTTpS://a.test/'],
  ])('%s is accepted as a setting', async (url) => {
    expect(
      (await suite.gateway.request('PATCH', app, { body: JSON.stringify({ fileUploadGetUrl: url }) })).status,
    ).toBe(200);
  });
  test.each(['ftp://a.test/', 'a.test', 'https://', 'https://a.test/ b', 'https://a.test:99999/'])(
    'the error for %j has location and reason',
    async (url) => {
      const answer = await suite.gateway.request('PATCH', app, { body: JSON.stringify({ soraEvent: url }) });
      expect([answer.status, answer.text, answer.headers['x-error-detail']]).toEqual([
        ...[400, '{"message":"Invalid request body"}', '/soraEvent must be an http or https URL.'],
      ]);
    },
  );

  // proves api/5/settings-url
  // protects against callbacks/scheme
  test.each([
    { deviceEvent: long(256) },
    { deviceEvent: `${long(255)}\u{1f600}` },
    { deviceEvent: '' },
    { deviceEvent: 'ftp://a.test/' },
    { deviceEvent: ' https://a.test/' },
    { deviceEvent: 'https://a.test/ b' },
    { deviceEvent: 'https://' },
    { deviceEvent: 'https://a.test:99999/' },
    { deviceEvent: 'javascript:https://a' },
    ...['file:///etc/passwd', 'gopher://127.0.0.1:6379/_INFO', 'https:\\\\a.test', 'https:/a.test'].map(
      (deviceEvent) => ({ deviceEvent }),
    ),
    ...[
      'https://a.test/\r\nX: y',
      'https://a.test/\n',
      'https://a.test/\u0000',
      'https://a.test/\u007f',
      'https://a.test\t/',
    ].map((deviceEvent) => ({ deviceEvent })),
    { deviceEvent: 1 },
    { deviceEvent: ['https://a.test/'] },
    { authenticationKey: 'x' },
    { unknown: null },
  ])('%j is 400', async (body) => {
    const answer = await suite.gateway.request('PATCH', app, { body: JSON.stringify(body) });
    expect(answer.status).toBe(400);
    expect(asked('updateSettings')).toBeUndefined();
  });

  test('the detail of a rejected setting contains the allowed values', async () => {
    await suite.refused('PATCH', app, { deviceEvent: 1 }, '/deviceEvent must be a string or null.');
    await suite.refused('PATCH', app, { deviceEvent: '' }, '/deviceEvent must not be empty.');
  });

  // proves api/3/authkey-response, api/7/refresh-authkey
  test('refresh_authkey returns the new key and ignores a body', async () => {
    const answer = await suite.gateway.request('POST', `${app}/refresh_authkey`, {
      body: '{',
      headers: { 'content-type': 'text/plain' },
    });
    expect([answer.status, answer.text]).toEqual([201, '{"authenticationKey":"key-2"}']);
    expect(answer.headers['location']).toBeUndefined();
    expect(answer.headers['cache-control']).toBe('no-store');
  });
});
