import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { documentNames } from '../openapi/document.ts';
import { startTestGateway } from '../testing/gateway.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();

const get = (path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${suite.gateway.server.port}/v1/openapi/${path}`, init);
const fileOf = (name: string) => readFileSync(new URL(`../../openapi/${name}.yaml`, import.meta.url), 'utf8');

// proves ext/catalogue/documents
describe.each(documentNames)('%s', (name) => {
  test('is served as YAML byte for byte, and as JSON with the same content, without a token', async () => {
    const yaml = await get(`${name}.yaml`);
    expect([yaml.status, yaml.headers.get('content-type')]).toEqual([200, 'application/yaml']);
    expect(await yaml.text()).toBe(fileOf(name));
    const json = await get(`${name}.json`);
    expect([json.status, json.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await json.json()).toEqual(parse(fileOf(name)));
    expect(json.headers.get('x-request-id')).toBeTruthy();
    expect(json.headers.get('cache-control')).toBe('public, max-age=300');
  });

  test.each(['yaml', 'json'])(
    '%s: a client with the current version gets 304; HEAD has no body',
    async (form) => {
      const first = await get(`${name}.${form}`);
      const etag = first.headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[\w-]{43}"$/);
      const bytes = (await first.arrayBuffer()).byteLength;
      for (const given of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await get(`${name}.${form}`, { headers: { 'if-none-match': given } });
        expect([given, again.status, again.headers.get('etag'), await again.text()]).toEqual([
          ...[given, 304],
          ...[etag, ''],
        ]);
      }
      const other = await get(`${name}.${form}`, { headers: { 'if-none-match': '"other"' } });
      expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, bytes]);
      const head = await get(`${name}.${form}`, { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([
        ...[200, String(bytes)],
        etag,
      ]);
      expect(await head.text()).toBe('');
    },
  );
});

// protects against rest/path-unknown
test.each([
  'cws_api',
  'cws_api.yml',
  'CWS_API.yaml',
  'released',
  '..%2fpackage.json',
  '%2e%2e%2f..%2fpackage.json',
  '__proto__',
  'constructor',
  'cws_api.yaml/',
  'cws_api.yaml%00',
])('%s is an unknown path', async (path) => {
  const answer = await suite.gateway.request('GET', `/v1/openapi/${path}`);
  expect(answer.status).toBe(403);
});

test.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('%s is an unknown method', async (method) => {
  const answer = await suite.gateway.request(method, '/v1/openapi/cws_api.json');
  expect(answer.status).toBe(403);
});

// proves ext/catalogue/documents-limit
// protects against rest/documents-flood
test('one address gets 100 at once, then 429 with Retry-After, and calls with a token continue', async () => {
  const gateway = await startTestGateway();
  const url = `http://127.0.0.1:${gateway.server.port}/v1/openapi/cws_presigned_url.json`;
  try {
    const answers = await Promise.all(Array.from({ length: 200 }, () => fetch(url, { method: 'HEAD' })));
    const refused = answers.filter((answer) => answer.status === 429);
    // More are refilled in the meantime, at 20 a second.
    expect(answers.filter((answer) => answer.status === 200).length).toBeGreaterThanOrEqual(100);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"openapi";q=20;w=1');
    expect((await gateway.request('GET', '/v1/applications/app-1')).status).toBe(200);
    expect(await gateway.metrics.getSingleMetricAsString('headset_gateway_limited_total')).toContain(
      `limit="openapi"} ${refused.length}`,
    );
  } finally {
    await gateway.stop();
  }
});
