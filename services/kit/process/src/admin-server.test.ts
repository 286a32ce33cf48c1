import { request } from 'node:http';
import { BlockList } from 'node:net';
import { untilDeadline } from '@headset-cloud/runtime/deadline.ts';
import { defaultListeners } from '@headset-cloud/runtime/listeners/http-listener.ts';
import { createLogger, type Logger } from '@headset-cloud/runtime/logger.ts';
import { pino } from 'pino';
import { Gauge } from 'prom-client';
import { type AdminServerOptions, adminTokensOf, createAdminServer } from './admin-server.ts';
import { createMetrics } from './process-metrics.ts';

/** Host names that the admin listener accepts (docs/rules.md, rule C17). */

const listeners: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.stop();
});

async function opened(token: string | undefined, more: Partial<AdminServerOptions> = {}) {
  const server = createAdminServer({
    service: 'test',
    listen: { host: '127.0.0.1', port: 0 },
    token,
    bindings: [],
    metrics: createMetrics('test'),
    notReady: () => [],
    logger: createLogger({ level: 'silent' }),
    ...more,
  });
  await server.start();
  listeners.push({ stop: async () => void (await server.stop(0)) });
  return server;
}

async function listener(token: string | undefined, more: Partial<AdminServerOptions> = {}) {
  const server = await opened(token, more);
  return (host: string, headers: Record<string, string> = {}, path = '/status') =>
    new Promise<number>((resolve, reject) => {
      const call = request({ port: server.port(), host: '127.0.0.1', path, headers: { host, ...headers } });
      call.on('error', reject);
      call.on('response', (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      call.end();
    });
}

it('shows the other values while one of them hangs', async () => {
  const metrics = createMetrics('test');
  new Gauge({
    name: 'hanging',
    help: 'Its store does not answer.',
    registers: [metrics],
    async collect() {
      await untilDeadline(new Promise<never>(() => {})).catch(() => this.remove());
    },
  });
  new Gauge({ name: 'answering', help: 'It is known.', registers: [metrics] }).set(7);
  const server = await opened(undefined, { metrics, scrapeMs: 50 });
  const text = await (await fetch(`http://127.0.0.1:${server.port()}/metrics`)).text();
  expect(text).toContain('answering{service="test"} 7');
  expect(text).not.toMatch(/^hanging{/m);
});

// protects against operators/host
it('without a token it accepts names of this machine only', async () => {
  const call = await listener(undefined);
  for (const host of [
    'localhost',
    'localhost:9100',
    '127.0.0.1:9100',
    '127.0.0.2',
    '[::1]:9100',
    'LOCALHOST',
  ]) {
    expect([host, await call(host)]).toEqual([host, 200]);
  }
  for (const host of [
    'evil.example.com',
    'evil.example.com:9100',
    'localhost.evil.example.com',
    '127.0.0.1.evil.example',
    '10.0.0.1',
  ]) {
    for (const path of ['/status', '/metrics', '/readyz']) {
      expect([host, path, await call(host, {}, path)]).toEqual([host, path, 421]);
    }
  }
});

// protects against operators/token
it('with a token configured, any host name is accepted with the token', async () => {
  const call = await listener('a-token-of-the-test');
  expect(await call('devices.headset.svc')).toBe(401);
  expect(await call('devices.headset.svc', { authorization: 'Bearer a-token-of-the-test' })).toBe(200);
  expect(await call('devices.headset.svc', {}, '/readyz')).toBe(200);
});

// protects against operators/host
it('an absolute-form target is read as its path, and its host replaces the Host header', async () => {
  const call = await listener(undefined);
  expect(await call('localhost', {}, 'http://localhost:9100/status')).toBe(200);
  expect(await call('other.example', {}, 'http://localhost:9100/metrics?x=1')).toBe(200);
  expect(await call('localhost', {}, 'http://evil.example.com/status')).toBe(421);
});

/** Lines of a log, parsed. */
function logged() {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { lines, logger: logger as unknown as Logger };
}

// protects against operators/token, operators/host, operators/log-flood
it('counts each rejection by its reason, and logs the client address, at once for the first and at a limited rate', async () => {
  const [metrics, others] = [createMetrics('test'), createMetrics('test')];
  const { lines, logger } = logged();
  const proxies = new BlockList();
  proxies.addAddress('127.0.0.1');
  const listeners = { ...defaultListeners, proxies };
  const secured = await listener('a-token-of-the-test', { metrics, logger, listeners });
  const local = await listener(undefined, { metrics: others, logger, listeners });
  for (let i = 0; i < 20; i++) {
    await secured('x', { 'x-forwarded-for': `192.0.2.${i}` }, '/status?secret=1');
    await secured('x', { authorization: 'Bearer the-token-of-nobody' });
    await local('evil.example.com');
  }
  await secured('x', { authorization: 'Bearer a-token-of-the-test' });
  await local('localhost');
  const shown = [metrics, others].map((one) => one.getSingleMetricAsString('headset_admin_refused_total'));
  const counted = (await Promise.all(shown)).join('\n');
  for (const reason of ['token_missing', 'token_wrong', 'host']) {
    expect(counted).toContain(`{reason="${reason}",service="test"} 20`);
  }
  const refusals = lines.filter(({ msg }) => msg === 'a request at the admin port was refused');
  expect(refusals.slice(0, 3)).toEqual([
    expect.objectContaining({ reason: 'token_missing', address: '192.0.2.0', path: '/status' }),
    expect.objectContaining({ reason: 'token_wrong', address: '127.0.0.1' }),
    expect.objectContaining({ reason: 'host', address: '127.0.0.1' }),
  ]);
  expect(refusals.length).toBeLessThan(10);
  expect(JSON.stringify(lines)).not.toContain('token-of-nobody');
});

// protects against operators/metrics-token
it('accepts the former token everywhere, and the metrics token for metrics only', async () => {
  const call = await listener('a-token-of-the-test', {
    tokenBefore: 'the-token-until-now',
    metricsToken: 'for-prometheus-only',
  });
  const by = (token: string, path: string) => call('x', { authorization: `Bearer ${token}` }, path);
  for (const path of ['/status', '/metrics']) {
    expect(await by('a-token-of-the-test', path)).toBe(200);
    expect(await by('the-token-until-now', path)).toBe(200);
    expect(await by('the-token-of-nobody', path)).toBe(401);
  }
  expect(await by('for-prometheus-only', '/metrics')).toBe(200);
  expect(await by('for-prometheus-only', '/status')).toBe(401);
  expect(await by('for-prometheus-only', '/headset.devices.v1.DevicesAdminService/ListDevices')).toBe(401);
});

test.each(['ADMIN_TOKEN', 'ADMIN_TOKEN_BEFORE'])('the token for metrics is not %s', (key) => {
  const METRICS_TOKEN = 'the-same-long-text';
  expect(() => adminTokensOf({ [key]: METRICS_TOKEN, METRICS_TOKEN })).toThrow(
    'METRICS_TOKEN is the operators’ token',
  );
  expect(adminTokensOf({ [key]: 'another-long-text', METRICS_TOKEN }).metricsToken).toBe(METRICS_TOKEN);
});
