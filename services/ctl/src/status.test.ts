import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { platformVersion } from '@headset-cloud/runtime/build-info.ts';
import { instancesOf } from './connection.ts';
import { type Listener, openListener } from './testing/listener.ts';
import { run } from './testing/run.ts';

let listener: Listener;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ctl-'));
});
afterEach(async () => {
  await listener?.close();
  rmSync(directory, { recursive: true });
});

const ctl = (args: string, env: Record<string, string> = { ADMIN_URL: listener.url }) => run(args, env);

describe('status', () => {
  test('shows one process that is the whole platform once', async () => {
    const nowMs = Date.UTC(2026, 0, 1);
    listener = await openListener({ clock: { now: () => nowMs } });
    const earliestUptimeMs = process.uptime() * 1000;
    const { code, out } = await ctl('status');
    const latestUptimeMs = process.uptime() * 1000;
    expect(code).toBe(0);
    const [head, line, ...rest] = out.trimEnd().split('\n');
    expect(head).toMatch(/^SERVICE +VERSION +READY +SINCE +REASON$/);
    const since = /^platform +(\S+) +yes +(\S+Z) +-$/.exec(line ?? '');
    expect(since?.[1]).toBe(platformVersion());
    const startedAtMs = Date.parse(since?.[2] ?? '');
    expect(startedAtMs).toBeGreaterThanOrEqual(Math.floor(nowMs - latestUptimeMs));
    expect(startedAtMs).toBeLessThanOrEqual(Math.ceil(nowMs - earliestUptimeMs));
    expect(rest).toEqual([]);
  });

  test('shows each of several processes, why one is not ready, and which cannot be reached', async () => {
    listener = await openListener({ service: 'devices', notReady: ['starting: waits for the indexes'] });
    const away = 'http://127.0.0.1:2';
    const { code, out, err } = await ctl(`--admin ${away} --devices-admin ${listener.url} status --json`, {});
    expect([code, err]).toEqual([1, 'Not all services are ready.\n']);
    const { services } = JSON.parse(out);
    expect(services).toHaveLength(9);
    expect(services).toContainEqual(
      expect.objectContaining({
        service: 'devices',
        ready: false,
        reason: 'starting: waits for the indexes',
      }),
    );
    expect(services).toContainEqual({
      ...{ service: 'gateway', version: '', ready: false, since: '', warnings: [] },
      reason: `${away}: ECONNREFUSED`,
    });
  });

  test('shows degraded dependencies of ready processes, with exit code 5, which differs from not ready', async () => {
    const warning = { name: 'storage_unavailable', message: 'bucket b at AWS, eu-1: not found' };
    listener = await openListener({ warnings: [warning, { name: 'other', message: 'too' }] });
    const { code, out, err } = await ctl('status');
    expect([code, err]).toEqual([5, 'All services are ready, with warnings.\n']);
    expect(out).toMatch(
      /^platform +\S+ +yes +\S+Z +warning: storage_unavailable: bucket b at AWS, eu-1: not found; warning: other: too$/m,
    );
    const json = await ctl('status --json');
    expect([json.code, JSON.parse(json.out).services[0].warnings[0]]).toEqual([5, warning]);
    const away = 'http://127.0.0.1:2';
    expect((await ctl(`--admin ${away} --devices-admin ${listener.url} status`, {})).code).toBe(1);
  });

  test('names the time-out of a process that hangs', async () => {
    const hanging = createServer(() => {});
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
      const { code, out } = await ctl('--timeout-ms 200 status --json', { ADMIN_URL: url });
      expect([code, JSON.parse(out).services[0].reason]).toEqual([3, `${url}: no answer within 200 ms`]);
    } finally {
      hanging.closeAllConnections();
      hanging.close();
    }
  });

  test('reads a process of a version without warnings', async () => {
    const old = createServer((_, response) =>
      response.end(JSON.stringify({ service: 'platform', version: '0.1.0', startedAtMs: 1, notReady: [] })),
    );
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = old.address() as AddressInfo;
      expect((await ctl('status', { ADMIN_URL: `http://127.0.0.1:${port}` })).code).toBe(0);
    } finally {
      old.closeAllConnections();
      old.close();
    }
  });

  test('the exit code if no process answers differs from the exit code of a process that is not ready', async () => {
    const away = await ctl('status', { ADMIN_URL: 'http://127.0.0.1:2' });
    expect([away.code, away.err]).toEqual([3, expect.stringMatching(/^No process can be asked\. Start the/)]);
    expect(away.out).toContain('ECONNREFUSED');
    listener = await openListener({ notReady: ['MongoDB'] });
    expect((await ctl('status')).code).toBe(1);
    expect((await ctl('status --nonsense')).code).toBe(2);
    expect((await ctl('--help')).out).toMatch(/status ends with 1 if a process is not ready,.*\n? *.*3 or 4/);
  });

  test('needs the admin token, like all calls', async () => {
    listener = await openListener({ token: 'a token of sixteen' });
    const refused = await ctl('status');
    expect([refused.code, refused.err]).toEqual([
      4,
      'No process accepts the admin token. Set ADMIN_TOKEN, ADMIN_TOKEN_FILE or --token-file.\n',
    ]);
    expect(refused.out).toContain('answers 401: it does not accept the admin token');
    const other = await ctl('developers list');
    expect([other.code, other.err]).toEqual([4, expect.stringContaining("restart the operators' pod")]);
    const { code } = await ctl('status', { ADMIN_URL: listener.url, ADMIN_TOKEN: 'a token of sixteen' });
    expect(code).toBe(0);
  });
});

describe('processes behind one name, like the pods of a headless Service', () => {
  const url = 'http://headset-devices:9100,http://headset-devices-admin:9100';
  const of = (given: string, found: Record<string, string[]>) =>
    instancesOf('devices', { admin: given, timeoutMs: 1000 }, {}, async (name) => {
      const addresses = found[name];
      if (!addresses) throw Object.assign(new Error(name), { code: 'EAI_AGAIN' });
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    });

  test.each([
    ['several pods', url, ['10.1.0.9', '10.1.0.3'], ['http://10.1.0.3:9100', 'http://10.1.0.9:9100']],
    ['one on both families', url, ['10.1.0.9', 'fd00::9'], url.split(',')],
    ['several on IPv6', 'http://a', ['fd00::9', 'fd00::3'], ['http://[fd00::3]:80', 'http://[fd00::9]:80']],
    ['a certificate’s name', 'https://a', ['10.1.0.9', '10.1.0.3'], ['https://a']],
  ])('%s', async (_, given, found, asked) => {
    const instances = await of(given, { 'headset-devices-admin': found, a: found });
    expect(instances.flatMap(({ addresses }) => addresses)).toEqual(asked);
    expect(instances.map(({ name }) => name)).toEqual(
      instances.length === 1 ? ['devices'] : ['devices', 'devices-2'],
    );
  });

  test('an unknown name is used unchanged', async () => {
    expect(await of(url, {})).toEqual([{ name: 'devices', addresses: url.split(',') }]);
  });

  test('a command uses the next address if the first name is unknown', async () => {
    listener = await openListener();
    const { out } = await ctl(`--admin http://no-such-name.invalid:9100,${listener.url} developers list`, {});
    expect(out).toContain('acme');
    expect((await ctl(`--admin ${listener.url},nonsense developers list`, {})).code).toBe(2);
  });
});

test('a stopping process beside a ready process of its service is not a failure', async () => {
  listener = await openListener({ service: 'notifier' });
  const second = await openListener({ service: 'notifier', notReady: ['shutting down'] });
  try {
    const names = ['gateway', 'devices', 'transactions', 'device-link', 'updates', 'connectivity'];
    const listeners = Object.fromEntries(
      [...names, 'communication', 'billing', 'notifier'].map((name) => [name, listener.url]),
    );
    const file = join(directory, 'addresses.json');
    const code = async () => (await ctl('status', { CTL_ADDRESSES_FILE: file })).code;
    writeFileSync(file, JSON.stringify({ ...listeners, 'notifier-2': second.url }));
    expect(await code()).toBe(0);
    writeFileSync(file, JSON.stringify({ ...listeners, 'billing-2': second.url, notifier: second.url }));
    expect(await code()).toBe(1);
  } finally {
    await second.close();
  }
});

test('a stopped process that DNS still names, beside a ready process of its service, is asked again', async () => {
  const file = join(directory, 'addresses.json');
  let listeners: Record<string, string> = {};
  // On the first call, all addresses have been read before a process is asked.
  const onStatus = () => writeFileSync(file, JSON.stringify(listeners));
  listener = await openListener({ service: 'notifier', onStatus });
  const names = ['gateway', 'devices', 'transactions', 'device-link', 'updates', 'connectivity'];
  listeners = Object.fromEntries(
    [...names, 'communication', 'billing', 'notifier'].map((name) => [name, listener.url]),
  );
  writeFileSync(file, JSON.stringify({ ...listeners, 'notifier-2': 'http://127.0.0.1:2' }));
  const { code, out } = await ctl('status --json', { CTL_ADDRESSES_FILE: file });
  expect([code, JSON.parse(out).services.at(0)]).toEqual([
    0,
    expect.not.objectContaining({ silent: expect.anything() }),
  ]);
});

test('status reads every instance of a service that make up has written', async () => {
  listener = await openListener({ service: 'notifier' });
  const second = await openListener({ service: 'notifier', notReady: ['draining'] });
  try {
    const file = join(directory, 'addresses.json');
    const env = { CTL_ADDRESSES_FILE: file };
    const listeners = {
      ...{ 'notifier-10': 'http://127.0.0.1:2', 'notifier-2': second.url, notifier: listener.url },
      ...{ 'gateway-2': 'http://127.0.0.1:2', gateway: 'http://127.0.0.1:2' },
    };
    writeFileSync(file, JSON.stringify(listeners));
    const status = async (args: string) => {
      const { services } = JSON.parse((await ctl(`${args}status --json`, env)).out);
      return (services as { service: string; ready: boolean; reason: string }[])
        .filter(({ service }) => /^(notifier|gateway)/.test(service))
        .map(({ service, ready, reason }) => [service, ready, reason]);
    };
    const away = 'http://127.0.0.1:2: ECONNREFUSED';
    expect(await status('')).toEqual([
      ['gateway', false, away],
      ['gateway-2', false, away],
      ['notifier', true, ''],
      ['notifier-2', false, 'draining'],
      ['notifier-10', false, away],
    ]);
    // A given address is the only one that is used.
    expect(await status(`--notifier-admin ${second.url} `)).toEqual([
      ['gateway', false, away],
      ['gateway-2', false, away],
      ['notifier', false, 'draining'],
    ]);
  } finally {
    await second.close();
  }
});

test('without addresses the listeners that make up has written are used', async () => {
  listener = await openListener();
  const file = join(directory, 'addresses.json');
  const env = { CTL_ADDRESSES_FILE: file };
  writeFileSync(file, JSON.stringify({ devices: listener.url, gateway: 'http://127.0.0.1:2' }));
  expect((await ctl('developers list', env)).out).toContain('acme');
  expect((await ctl('status --json', env)).out).toContain('http://127.0.0.1:2: ECONNREFUSED');
  writeFileSync(file, '{');
  expect((await ctl('status', { ...env, ADMIN_URL: listener.url })).code).toBe(0);
  expect(await ctl('developers list', env)).toMatchObject({
    code: 2,
    err: expect.stringContaining('The file of the listeners cannot be read'),
  });
});
