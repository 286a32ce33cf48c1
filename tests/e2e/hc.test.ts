import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer, text as textOf } from 'node:stream/consumers';
import { startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { itUnless } from '../support/skip.ts';
import { missingTools } from '../support/tools.ts';
import { createTenant, describeOnStack, stack, type Tenant } from './harness.ts';
import { hcWords, killRuns, type Laptop, laptopOf } from './hc.ts';

afterAll(killRuns);

const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

/** The ids of a tenant's feed in order, as read by a separate reader. */
async function feedIds(tenant: Tenant): Promise<string[]> {
  const ids: string[] = [];
  for (let after = ''; ; ) {
    const { body } = await tenant.call(200, 'GET', `/events?limit=1000${after && `&after=${after}`}`);
    ids.push(...body.events.map(({ webhookId }: { webhookId: string }) => webhookId));
    after = body.cursor;
    if (!body.more) return ids;
  }
}

/** A tenant with an activated headset that is connected. */
async function connected(options: Parameters<typeof createTenant>[0] = {}) {
  const tenant = await createTenant(options);
  const activation = await tenant.activate();
  const headset = tenant.headset();
  headset.connect();
  const report = (customData: string) =>
    headset.report({ case: 'customData', value: { success: true, customData } });
  return { tenant, activation, headset, report };
}

describeOnStack('hc: logging in', () => {
  let tenant: Tenant;
  let laptop: Laptop;
  beforeAll(async () => {
    tenant = await createTenant();
    laptop = laptopOf(tenant);
  });
  afterAll(() => tenant.close());

  const words = () => [
    ...['--application', tenant.applicationId, 'login', '--api-url', stack.apiUrl],
    ...['--issuer', stack.issuerUrl, '--client', tenant.clientId],
  ];
  /** An environment without credentials. */
  const bare = {
    HC_API_URL: '',
    HC_TOKEN_URL: '',
    HC_APPLICATION: '',
    HC_CLIENT_ID: '',
    HC_CLIENT_SECRET: '',
  };
  const file = () => join(laptop.home, '.config/headset-cloud/default.json');

  it('requires credentials, and stores the secret from standard input in a file that only the user can read', async () => {
    expect(await laptop.run(['events'], { env: bare })).toMatchObject({
      ...{ code: 4, out: '', err: expect.stringMatching(/^You are not logged in: run hc login/) },
    });
    expect(await laptop.run(words(), { env: bare, input: 'not the secret' })).toMatchObject({
      code: 4,
      err: expect.stringContaining(`rejects the client ${tenant.clientId} and its secret`),
    });
    expect(existsSync(file())).toBe(false);
    const login = await laptop.run(words(), { env: bare, input: `${tenant.client.clientSecret}\n` });
    expect(login).toMatchObject({ code: 0, err: '' });
    expect(login.out).not.toContain(tenant.client.clientSecret);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(await laptop.run(['events'], { env: bare })).toMatchObject({ code: 0, out: 'No events.\n' });
  });

  it('reports the reason: a wrong token, an unavailable API, another developer’s application', async () => {
    const token = await laptop.run(['events'], { env: { HC_ACCESS_TOKEN: 'x.y.z' } });
    expect(token).toMatchObject({
      code: 4,
      err: expect.stringMatching(/does not accept the access token: .*Run hc login/),
    });
    const away = await laptop.run(['events'], { env: { HC_API_URL: 'http://127.0.0.1:9' } });
    expect(away).toMatchObject({
      code: 3,
      err: expect.stringContaining('cannot be reached at http://127.0.0.1:9'),
    });
    const otherTenant = await createTenant();
    const other = await laptop.run(['--application', otherTenant.applicationId, 'events']);
    expect(other).toMatchObject({
      code: 1,
      err: expect.stringContaining("an application of this client's developer"),
    });
    await otherTenant.close();
  });

  itUnless(missingTools('script'))(
    'in a terminal the typed secret is not shown, and lists fit the width',
    async () => {
      const { clientSecret } = tenant.client;
      const line = `stty cols 40; ${quoted([...hcWords, ...words()])}; ${quoted([...hcWords, 'trigger'])}`;
      const child = spawn('script', ['-qec', line, '/dev/null'], {
        env: { ...laptop.env, ...bare, TERM: 'dumb' },
        stdio: 'pipe',
      });
      let out = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        out += text;
      });
      await waitFor('the question', () => out.includes('it is not shown'));
      child.stdin.write(`${clientSecret}\r`);
      const code = await new Promise((resolve) => child.once('close', resolve));
      expect([code, out]).toEqual([0, expect.stringMatching(/type +notify-boot\r?\n/)]);
      expect(out).not.toContain(clientSecret);
      // Questions and paths may be longer; the listed lines are not.
      const listed = out.slice(out.indexOf('type '));
      expect(listed).not.toContain('TYPE');
    },
  );
});

describeOnStack('hc listen', () => {
  // proves ext/hc/listen
  it('killed several times: no event is lost, and only the event in progress may be delivered twice', async () => {
    const { tenant, activation, report } = await connected();
    await tenant.ended(activation);
    const kills = new Set([7, 15, 16]);
    const began: { kill(): void }[] = [];
    const server = await startIntegrator({
      keys: tenant.integrator.keys,
      answer: async () => {
        // Killed while it waits for the answer of the local server.
        if (kills.has(server.arrivals.length)) began.at(-1)?.kill();
        return { status: 204 };
      },
    });
    const laptop = laptopOf(tenant);
    const words = ['listen', '--forward-to', server.url];
    const values = Array.from({ length: 40 }, (_, i) => `value ${i}`);
    const start = (more: readonly string[] = []) => {
      const run = laptop.start([...words, ...more]);
      began.push({ kill: () => void run.child.kill('SIGKILL') });
      return run;
    };
    let run = start(['--since', 'oldest']);
    for (const value of values) report(value);
    const events = await waitFor('all of them in the feed', async () => {
      const ids = await feedIds(tenant);
      return ids.length >= values.length + 2 && ids;
    });
    let killed = 0;
    const isThere = () => new Set(server.received.map(({ webhookId }) => webhookId)).size === events.length;
    while (
      !(await Promise.race([waitFor('all of them', isThere).then(() => true), run.ended.then(() => false)]))
    ) {
      expect(await run.ended).toBe('SIGKILL');
      killed++;
      run = start();
    }
    expect(killed).toBe(kills.size);
    run.child.kill('SIGINT');
    expect(await run.ended).toBe(0);
    expect(run.err).toContain('Continuing where the last run stopped.');
    // Each callback has the signatures of the cloud.
    expect(server.arrivals.filter(({ verified }) => !verified)).toEqual([]);
    expect(server.received.map(({ webhookId }) => webhookId)).toEqual(events);
    const repeats = server.arrivals.length - server.received.length;
    expect(repeats).toBeLessThanOrEqual(killed);
    // The event in progress is repeated, directly after its first arrival.
    const order = server.arrivals.map(({ webhookId }) => webhookId);
    expect(order.filter((id, i) => id !== order[i - 1])).toEqual(events);
    await server.close();
    await tenant.close();
  });

  // proves ext/hc/listen
  it('keeps the order while the local server fails, and a new listener starts with new events', async () => {
    const { tenant, activation, report } = await connected();
    await tenant.ended(activation);
    const failures = [500, 503];
    const server = await startIntegrator({
      keys: tenant.integrator.keys,
      answer: () => ({ status: failures.shift() ?? 204 }),
    });
    const laptop = laptopOf(tenant);
    const run = laptop.start(['listen', '--forward-to', server.url, '--json']);
    await waitFor('it to listen', () => run.err.includes('Starting with new events'));
    for (const value of ['one', 'two', 'three']) report(value);
    await waitFor('all of them', () => server.received.length === 3);
    await waitFor('all lines', () => run.lines.length === 5);
    run.child.kill('SIGINT');
    expect(await run.ended).toBe(0);
    const printed = run.lines.map((line) => JSON.parse(line));
    expect(printed.map(({ attempt, status, outcome }) => [attempt, status, outcome])).toEqual([
      ...[
        [1, 500, 'again'],
        [2, 503, 'again'],
        [3, 204, 'taken'],
      ],
      ...[
        [1, 204, 'taken'],
        [1, 204, 'taken'],
      ],
    ]);
    expect(server.received.map(({ body }) => body.customData)).toEqual(['one', 'two', 'three']);
    await server.close();
    await tenant.close();
  });

  it('a second listener for the same URL is rejected while the first one runs', async () => {
    const tenant = await createTenant();
    const laptop = laptopOf(tenant);
    const words = ['listen', '--forward-to', 'http://127.0.0.1:9'];
    const first = laptop.start(words);
    await waitFor('it to listen', () => first.err.includes('Starting with'));
    expect(await laptop.run(words)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`Another hc listen (process ${first.child.pid})`),
    });
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
    await tenant.close();
  });
});

describeOnStack('hc: callbacks', () => {
  // proves ext/hc/commands
  it('sends a test callback, and shows the answer', async () => {
    const tenant = await createTenant();
    const laptop = laptopOf(tenant);
    const { code, out } = await laptop.run(['trigger', 'notify-boot', '--verify']);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/answer +204 after .*\n\nWith a wrong signature:\nsignature +rejected/s),
    ]);
    await tenant.call(200, 'PATCH', '', { deviceEvent: 'https://nowhere.invalid/callbacks' });
    expect(await laptop.run(['trigger', 'notify-boot'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('The callback was not accepted: The host name cannot be resolved.'),
    });
    await tenant.close();
  });

  // proves ext/hc/commands
  it('finds callbacks that did not arrive, shows the reason, and sends them again with a progress display', async () => {
    let open = false;
    const { tenant, activation, report } = await connected({
      answer: () => (open ? { status: 204 } : { status: 410, body: 'we have moved' }),
    });
    const laptop = laptopOf(tenant);
    // Until the headset knows its activation, its reports do not belong to the application.
    await waitFor('the failed delivery of the activation’s end', async () => {
      const { deliveries } = await laptop.json('deliveries', 'list', '--transaction', String(activation));
      return deliveries.some(
        ({ webhookId, state }: Record<string, unknown>) =>
          webhookId === `tx-${activation}-processed` && state === 'dead',
      );
    });
    report('lost');
    const dead = await waitFor('the failed deliveries', async () => {
      const { deliveries } = await laptop.json('deliveries', 'list', '--state', 'dead');
      return (
        deliveries.length >= 2 &&
        deliveries.some(({ type }: { type: string }) => type === 'notify-custom-data') &&
        deliveries
      );
    });
    const ids: string[] = dead.map(({ webhookId }: { webhookId: string }) => webhookId);
    const { out } = await laptop.run(['deliveries', 'show', ids[0] as string]);
    expect(out).toMatch(/state +dead\n/);
    expect(out).toContain('we have moved');
    expect(await laptop.json('deliveries', 'recover', '--since', '1h', '--dry-run')).toMatchObject({
      recovery: null,
    });
    // A running listener gets them as well.
    const server = await startIntegrator({ keys: tenant.integrator.keys });
    const listening = laptop.start(['listen', '--forward-to', server.url]);
    await waitFor('it to listen', () => listening.err.includes('Starting with new events'));
    open = true;
    const again = await laptop.run(['deliveries', 'redeliver', ids[0] as string]);
    expect([again.code, again.out]).toEqual([0, expect.stringMatching(/state +pending\n/)]);
    const recovered = await laptop.run(['deliveries', 'recover', '--since', '1h']);
    expect([recovered.code, recovered.out]).toEqual([0, expect.stringMatching(/resent; finished/)]);
    await waitFor('all of them', () =>
      ids.every((id) => tenant.integrator.received.some(({ webhookId }) => webhookId === id)),
    );
    await tenant.ended(activation);
    await waitFor('all of them on the laptop', () => server.received.length >= ids.length);
    expect(server.received.map(({ webhookId }) => webhookId).toSorted()).toEqual(ids.toSorted());
    expect(server.arrivals.every(({ verified }) => verified)).toBe(true);
    expect(listening.lines.filter((line) => line.includes('(sent again)'))).toHaveLength(ids.length);
    listening.child.kill('SIGINT');
    expect(await listening.ended).toBe(0);
    await server.close();
    const unknown = await laptop.run(['deliveries', 'redeliver', 'tx-1-processed-none']);
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringMatching(/\(404, request /)]);
    await tenant.close();
  });

  // proves ext/hc/commands
  it('follows events, also into a pipe that closes', async () => {
    const { tenant, activation, report } = await connected();
    await tenant.ended(activation);
    const laptop = laptopOf(tenant);
    const follow = laptop.start([
      '--json',
      'events',
      '--follow',
      '--types',
      'notify-custom-data',
      '--since',
      'oldest',
    ]);
    for (const value of ['one', 'two']) report(value);
    await waitFor('both', () => follow.lines.length === 2);
    expect(follow.lines.map((line) => JSON.parse(JSON.parse(line).body).customData)).toEqual(['one', 'two']);
    follow.child.kill('SIGINT');
    expect(await follow.ended).toBe(0);
    const piped = spawn(
      'bash',
      [
        '-c',
        `${quoted([...hcWords, 'events', '--follow', '--since', 'oldest'])} | head -1; echo "\${PIPESTATUS[0]}"`,
      ],
      { env: laptop.env, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let texts: readonly string[] | undefined;
    void Promise.all([textOf(piped.stdout), textOf(piped.stderr)]).then((both) => {
      texts = both;
    });
    // The writer detects a closed pipe.
    const [out, err] = await waitFor(
      'the end of the pipe',
      () => {
        report('more');
        return texts;
      },
      { intervalMs: 200 },
    );
    expect(out?.split('\n')).toEqual([expect.stringMatching(/^\S+Z {2}notify-/), '0', '']);
    expect(err).toBe('');
    const page = await laptop.json('events', '--limit', '2');
    expect(page.events.map(({ webhookId }: { webhookId: string }) => webhookId)).toEqual(
      (await feedIds(tenant)).slice(0, 2),
    );
    await tenant.close();
  });

  // proves ext/hc/verify
  it('reports whether a stored callback is valid, or how a server or another key changed it', async () => {
    const { tenant, report } = await connected();
    const stored: Buffer[] = [];
    const server: Server = createServer(async (request, response) => {
      const headers = request.rawHeaders.flatMap((name, i, all) =>
        i % 2 === 0 ? [`${name}: ${all[i + 1]}\r\n`] : [],
      );
      const head = `${request.method} ${request.url} HTTP/1.1\r\n${headers.join('')}\r\n`;
      const whole = Buffer.concat([Buffer.from(head), await buffer(request)]);
      if (whole.includes('notify-custom-data')) stored.push(whole);
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await tenant.call(200, 'PATCH', '', { deviceEvent: `http://127.0.0.1:${port}/callbacks` });
    await waitFor('the headset to be connected', async () => {
      report('世界');
      return stored.length > 0;
    });
    const laptop = laptopOf(tenant);
    const file = join(laptop.home, 'callback.http');
    writeFileSync(file, stored[0] as Buffer);
    expect(await laptop.run(['verify', file])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/webhook-signature +correct, with the application's key\nverdict +valid\n/),
    });
    writeFileSync(file, readFileSync(file, 'utf8').replace('世界', '世間'));
    expect(await laptop.run(['verify', file])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/it differs from the sent body from byte \d+ on/),
    });
    writeFileSync(file, stored[0] as Buffer);
    await tenant.call(201, 'POST', '/refresh_authkey');
    expect(await laptop.run(['verify', file])).toMatchObject({
      code: 1,
      err: expect.stringContaining('The body is unchanged, so the key differs'),
    });
    await new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    });
    await tenant.close();
  });
});

describeOnStack('hc: devices and transactions', () => {
  // proves ext/hc/commands
  it('watches a transaction to its end, and lists transactions and devices', async () => {
    const tenant = await createTenant();
    const laptop = laptopOf(tenant);
    const activation = await tenant.activate();
    const watching = laptop.start(['transactions', 'watch', String(activation)]);
    await waitFor('it to wait for the headset', () => watching.out.includes('published'));
    tenant.headset().connect();
    expect(await watching.ended).toBe(0);
    expect(watching.lines.at(-2)).toContain('processed');
    expect(watching.lines.at(-1)).toMatch(/^success/);
    const [device] = tenant.devices;
    const { transactions } = await laptop.json('transactions', 'list', '--device', device?.deviceId ?? '');
    expect(transactions).toMatchObject([{ transactionId: activation, transactionStatus: 'processed' }]);
    const found = await waitFor('it to be online', async () => {
      const { devices } = await laptop.json('devices', '--network', 'online');
      return devices.length > 0 && devices;
    });
    expect(found).toMatchObject([{ deviceId: device?.deviceId, network: 'connectivity_online' }]);
    expect((await laptop.run(['devices', '--network', 'offline'])).out).toBe('No devices.\n');
    expect((await laptop.json('transactions', 'show', String(activation))).transactionId).toBe(activation);
    await tenant.close();
  });
});
