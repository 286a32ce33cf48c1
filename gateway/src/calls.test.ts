import { createHash } from 'node:crypto';
import { timeLeft } from '@headset-cloud/kit/deadline.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from './testing/fakes.ts';
import { startTestGateway } from './testing/gateway.ts';
import { useGateway } from './testing/suite.ts';

const suite = useGateway();

const app = '/v1/applications/app-1';
const device = `${app}/devices/${deviceId}`;
const asked = (rpc: string) =>
  suite.gateway.fakes.seen.find((s) => s.rpc === rpc)?.request as Record<string, unknown>;

describe('settings', () => {
  // proves api/3/settings-key, api/7/get-settings
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

  // proves api/3/settings-fields, api/7/patch-settings
  test('PATCH sets given fields, removes null fields, leaves the others, and answers the read form', async () => {
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

  const long = (length: number) => `https://a.test/${'x'.repeat(length - 15)}`;
  // URL schemes are not case-sensitive (rule A22).
  test.each([
    ...[long(255), 'http://a', 'https://日本.test/パス?q=1#f', 'https://u:p@a.test:8443/'],
    ...['HTTP://a.test/', 'hTTpS://a.test/'],
  ])('%s is a setting', async (url) => {
    expect(
      (await suite.gateway.request('PATCH', app, { body: JSON.stringify({ fileUploadGetUrl: url }) })).status,
    ).toBe(200);
  });
  // proves api/5/settings-url
  test.each([
    { deviceEvent: long(256) },
    { deviceEvent: '' },
    { deviceEvent: 'ftp://a.test/' },
    { deviceEvent: ' https://a.test/' },
    { deviceEvent: 'https://a.test/ b' },
    { deviceEvent: 'https://' },
    { deviceEvent: 'https://a.test:99999/' },
    { deviceEvent: 'javascript:https://a' },
    { deviceEvent: 1 },
    { deviceEvent: ['https://a.test/'] },
    { authenticationKey: 'x' },
    { unknown: null },
  ])('%j is 400', async (body) => {
    const answer = await suite.gateway.request('PATCH', app, { body: JSON.stringify(body) });
    expect(answer.status).toBe(400);
    expect(asked('updateSettings')).toBeUndefined();
  });

  // proves api/3/authkey-response, api/7/refresh-authkey
  test('refresh_authkey answers the new key and ignores a body', async () => {
    const answer = await suite.gateway.request('POST', `${app}/refresh_authkey`, {
      body: '{',
      headers: { 'content-type': 'text/plain' },
    });
    expect([answer.status, answer.text]).toEqual([201, '{"authenticationKey":"key-2"}']);
    expect(answer.headers['location']).toBeUndefined();
    expect(answer.headers['cache-control']).toBe('no-store');
  });
});

describe('activation', () => {
  // proves api/3/activation-status, api/7/get-activation
  test('reads an activated device and one that never was', async () => {
    expect(JSON.parse((await suite.gateway.request('GET', device)).text)).toEqual({
      deviceId,
      activated: true,
      clientId: 'client-9',
      status: 'activated',
    });
    suite.gateway.fakes.answers.getActivation = async () => ({ deviceId, activated: false });
    expect(JSON.parse((await suite.gateway.request('GET', device)).text)).toEqual({
      deviceId,
      activated: false,
      clientId: null,
      status: 'deactivated',
    });
  });

  // proves api/3/activation-clientId, api/3/activation-mimi, api/7/activate
  test.each([
    [{ clientId: 'c' }, { clientId: 'c', clientSecret: '' }],
    [{ clientId: 'x'.repeat(255) }, { clientId: 'x'.repeat(255) }],
    [{ mimiClientId: 'm' }, { clientId: 'm', clientSecret: '' }],
    [
      { mimiClientId: 'm', mimiClientSecret: 's'.repeat(255) },
      { clientId: 'm', clientSecret: 's'.repeat(255) },
    ],
  ])('%j activates', async (body, expected) => {
    const answer = await suite.gateway.request('POST', device, { body: JSON.stringify(body) });
    expect([answer.status, answer.headers['location']]).toEqual([201, `${app}/transactions/101`]);
    expect(asked('activateDevice')).toMatchObject({ deviceId, ...expected });
  });

  test.each([
    {},
    { clientId: '' },
    { clientId: 'x'.repeat(256) },
    { clientId: null },
    { clientId: 'c', mimiClientId: 'm' },
    { clientId: 'c', mimiClientSecret: 's' },
    { mimiClientSecret: 's' },
    { mimiClientId: 'm', mimiClientSecret: '' },
    { mimiClientId: 'm', mimiClientSecret: 's'.repeat(256) },
    { clientId: 'c', other: 1 },
    [],
  ])('%j is 400', async (body) => {
    const answer = await suite.gateway.request('POST', device, { body: JSON.stringify(body) });
    expect(answer.status).toBe(400);
    expect(answer.headers['x-error-detail']).toBeDefined();
    expect(asked('activateDevice')).toBeUndefined();
  });

  // proves api/7/deactivate
  test('deactivation answers its transaction; an Idempotency-Key is tied to the received bytes', async () => {
    const answer = await suite.gateway.request('DELETE', device, { headers: { 'idempotency-key': 'k' } });
    expect([answer.status, answer.text]).toEqual([201, '{"transactionId":102}']);
    expect(asked('deactivateDevice')).toMatchObject({
      caller: {
        idempotency: { key: 'k', method: 'DELETE', path: device, bodySha256: createHash('sha256').digest() },
      },
    });
  });
});

describe('status', () => {
  test('a device that reported nothing is all null', async () => {
    const { deviceId: id, ...rest } = JSON.parse(
      (await suite.gateway.request('GET', `${device}/status`)).text,
    );
    expect(id).toBe(deviceId);
    expect(Object.values(rest).every((v) => v === null)).toBe(true);
  });

  // proves api/3/status-firmware, api/3/status-apps, api/3/status-lang, api/3/status-location
  // proves api/3/status-battery, api/7/status
  test('reported values are answered with their dates', async () => {
    suite.gateway.fakes.answers.getDeviceStatus = async () => ({
      status: {
        deviceId,
        power: 'started',
        batteryPercentage: 0,
        latitude: 0,
        longitude: -0.5,
        firmwareVersion: '9.1',
        apps: [{ package: 'p', version: '1' }],
        languages: [],
        powerUpdatedAtMs: 0n,
        batteryUpdatedAtMs: 1_767_225_600_123n,
        reported: true,
      },
    });
    expect(JSON.parse((await suite.gateway.request('GET', `${device}/status`)).text)).toMatchObject({
      power: 'started',
      wearing: null,
      batteryPercentage: 0,
      latitude: 0,
      longitude: -0.5,
      firmware: { version: '9.1' },
      apps: [{ package: 'p', version: '1' }],
      lang: [],
      powerUpdateDate: '1970-01-01T00:00:00.000Z',
      batteryUpdateDate: '2026-01-01T00:00:00.123Z',
      locationUpdateDate: null,
    });
  });

  const id = (n: number) => String(350_000_000_000_000 + n);
  // proves api/7/status-list
  test('the list of all devices is put together from pages', async () => {
    suite.gateway.fakes.answers.listDeviceStatuses = async ({ afterDeviceId, limit }) => {
      const from = afterDeviceId === '' ? 0 : Number(afterDeviceId) - 350_000_000_000_000 + 1;
      const count = Math.min(limit, 450 - from);
      return {
        statuses: Array.from({ length: count }, (_, i) => ({ deviceId: id(from + i) })),
        more: from + count < 450,
      };
    };
    const answer = await suite.gateway.request('GET', `${app}/devices/status`);
    const { devices } = JSON.parse(answer.text) as { devices: { deviceId: string }[] };
    expect(devices.map((d) => d.deviceId)).toEqual(Array.from({ length: 450 }, (_, i) => id(i)));
    expect(suite.gateway.fakes.seen.filter((s) => s.rpc === 'listDeviceStatuses')).toHaveLength(3);
  });

  test('no devices are an empty list', async () => {
    expect((await suite.gateway.request('GET', `${app}/devices/status`)).text).toBe('{"devices":[]}');
  });

  test('a failure before the first page is an error answer', async () => {
    suite.gateway.fakes.answers.listDeviceStatuses = async () => {
      throw new DomainError('unavailable', 'Away.');
    };
    expect((await suite.gateway.request('GET', `${app}/devices/status`)).status).toBe(503);
  });

  test('a failure midway closes the connection, so that the answer never looks complete', async () => {
    let page = 0;
    suite.gateway.fakes.answers.listDeviceStatuses = async () => {
      if (page++ > 0) throw new DomainError('database_failed', 'The database failed.');
      return { statuses: [{ deviceId }], more: true };
    };
    await expect(suite.gateway.request('GET', `${app}/devices/status`)).rejects.toThrow();
    await waitFor('the log line', () => suite.gateway.logs.some((l) => l['msg'] === 'answer cut off'));
  });
});

test('a service that does not answer within the deadline is 503 with Retry-After', async () => {
  const hurried = await startTestGateway({ UPSTREAM_DEADLINE_MS: '50' });
  try {
    hurried.fakes.answers.getSettings = () => new Promise(() => {});
    const answer = await hurried.request('GET', app);
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
  } finally {
    await hurried.stop();
  }
});

test('all service calls of a request share one deadline, and a stalled service is called once for each request', async () => {
  const totalMs = 400;
  const hurried = await startTestGateway({ UPSTREAM_DEADLINE_MS: String(totalMs) });
  try {
    const lefts: number[] = [];
    // The ownership check takes most of the time; the later calls have the rest.
    hurried.fakes.answers.authorizeApplication = async () => {
      await waitFor('most of the time to pass', () => (timeLeft() ?? 0) < totalMs / 2, { intervalMs: 1 });
      return {};
    };
    let calls = 0;
    hurried.fakes.answers.getSettings = () => {
      calls += 1;
      lefts.push(timeLeft() ?? Number.NaN);
      return new Promise(() => {});
    };
    expect((await hurried.request('GET', app)).status).toBe(503);
    expect(lefts[0]).toBeLessThan(totalMs / 2);
    calls = 0;
    const requests = 50;
    const answers = await Promise.all(Array.from({ length: requests }, () => hurried.request('GET', app)));
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([503]));
    expect(calls / requests).toBeLessThanOrEqual(1.2);
    expect(calls).toBeGreaterThan(0);
  } finally {
    await hurried.stop();
  }
});
