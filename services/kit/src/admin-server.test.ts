import { request } from 'node:http';
import { createAdminServer } from './admin-server.ts';
import { createMetrics } from './host.ts';
import { createLogger } from './logger.ts';

/** Which names the admin door answers to (docs/rules.md, rule C17). */

const doors: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const door of doors.splice(0)) await door.stop();
});

async function door(token: string | undefined) {
  const server = createAdminServer({
    service: 'test',
    listen: { host: '127.0.0.1', port: 0 },
    token,
    bindings: [],
    metrics: createMetrics('test'),
    notReady: () => [],
    logger: createLogger({ level: 'silent' }),
  });
  await server.start();
  doors.push({ stop: async () => void (await server.stop(0)) });
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

it('without a token it answers to names of this machine only', async () => {
  const call = await door(undefined);
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

it('with a token the name does not count, and the token does', async () => {
  const call = await door('a-token-of-the-test');
  expect(await call('devices.headset.svc')).toBe(401);
  expect(await call('devices.headset.svc', { authorization: 'Bearer a-token-of-the-test' })).toBe(200);
  expect(await call('devices.headset.svc', {}, '/readyz')).toBe(200);
});
