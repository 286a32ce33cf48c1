import { randomUUID } from 'node:crypto';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

/** A rejected call, and a valid call with the same Idempotency-Key, which the rejection leaves unused. */
interface Refusal {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  readonly message: string;
  /** The header X-Error-Detail with the field and the rule (rule A4). */
  readonly detail?: string;
  readonly headers?: Record<string, string>;
  readonly good?: { readonly body?: unknown; readonly headers?: Record<string, string> };
}

const app = { package: 'com.example.refused', version: '1.0.0', fileSize: 1 };
const invalid = { status: 400, message: 'Invalid request body' };
const upload = { method: 'POST', path: '/apps', ...invalid, good: { body: app } };
const uninstall = {
  ...{ method: 'DELETE', status: 404, message: 'The path parameter package is not valid.' },
};

describeOnStack('a rejected call', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant();
    await tenant.activate();
  });
  afterAll(() => tenant.close());

  const calls: Refusal[] = [
    { what: 'an upload of no package name', ...upload, body: { ...app, package: 'app' }, detail: '/package' },
    {
      ...{ what: 'an upload of a package with a space', ...upload, detail: '/package' },
      body: { ...app, package: 'com.example.app ' },
    },
    {
      ...{ what: 'an upload of a version with a space', ...upload, detail: '/version' },
      body: { ...app, version: '1 0' },
    },
    { what: 'an upload of an empty version', ...upload, body: { ...app, version: '' }, detail: '/version' },
    {
      ...{ what: 'an upload of an empty file', ...upload, detail: '/fileSize must be >= 1.' },
      body: { ...app, fileSize: 0 },
    },
    {
      ...{ what: 'a list of networks of a byte over 1 MiB', method: 'PUT', path: '@/settings/wifi' },
      ...{ status: 413, message: 'The request body is larger than 1048576 bytes.' },
      body: '[{"ssid":"office"}]'.padEnd(1024 * 1024 + 1),
      good: { body: '[{"ssid":"office"}]'.padEnd(1024 * 1024) },
    },
    {
      ...{ what: 'a list of languages over 64 KiB', method: 'PUT', path: '@/settings/lang' },
      ...{ status: 413, message: 'The request body is larger than 65536 bytes.' },
      body: '["ja"]'.padEnd(65_537),
      good: { body: '["ja"]'.padEnd(65_536) },
    },
    {
      ...{ what: 'JSON in another charset', method: 'PUT', path: '@/settings/lang', ...invalid },
      ...{ body: ['en'], detail: 'Content-Type must be application/json in UTF-8.' },
      headers: { 'content-type': 'application/json; profile=a; charset=shift_jis' },
      good: { body: ['en'], headers: { 'content-type': 'application/json; profile=a; charset="UTF-8"' } },
    },
    { what: 'an uninstallation of %zz', ...uninstall, path: '@/package/%zz' },
    { what: 'an uninstallation of a space', ...uninstall, path: '@/package/%20' },
    { what: 'an uninstallation of no package name', ...uninstall, path: '@/package/app' },
    { what: 'an uninstallation of a path', ...uninstall, path: '@/package/com.example%2Fapp' },
  ];

  // proves api/8/400-body, api/8/404-parameter
  it.each(calls)('$what: $status, and leaves nothing behind', async (refusal) => {
    const { method, body, status, message, detail, headers, good } = refusal;
    const path = refusal.path.replace('@', `/devices/${tenant.devices[0]?.deviceId}`);
    const key = { 'idempotency-key': randomUUID() };
    const before = await tenant.transactions();
    const answer = await tenant.call(status, method, path, body, { ...headers, ...key });
    expect(answer.body).toEqual({ message });
    if (detail === undefined) expect(answer.headers['x-error-detail']).toBeUndefined();
    else expect(String(answer.headers['x-error-detail'])).toContain(detail);
    expect(await tenant.transactions()).toEqual(before);
    expect(
      tenant.integrator.received.filter((r) => r.body.transactionId > (before.at(-1)?.transactionId ?? 0)),
    ).toEqual([]);
    // A stored key would answer 422 to another body.
    if (good) await tenant.call(201, method, path, good.body, { ...good.headers, ...key });
  });
});
