import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import { signToken, startTestIssuer, type TestIssuer, testKey } from '@headset-cloud/gateway/testing/keys.ts';
import { expiredCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { ctlWith } from './ctl.ts';

/** A gateway with a wrong issuer in its configuration; the test needs no service. */
describe('problems with the issuer', () => {
  const audience = 'https://api.example.com';
  const key = testKey('key-1', 'ES256');
  let folder: string;
  let gateway: ManagedProcess | undefined;
  let apiUrl: string;
  let adminUrl: string;
  const closers: (() => unknown)[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-issuer-'));
  });
  afterEach(async () => {
    await gateway?.kill();
    for (const close of closers.splice(0)) await close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startGateway(issuer: string): Promise<ManagedProcess> {
    const [api, admin] = await freePorts(2);
    apiUrl = `http://127.0.0.1:${api}`;
    adminUrl = `http://127.0.0.1:${admin}`;
    const started = manageProcess({
      name: 'gateway',
      entry: 'gateway/src/main.ts',
      env: {
        OIDC_ISSUER: issuer,
        OIDC_AUDIENCE: audience,
        GATEWAY_LISTEN: `127.0.0.1:${api}`,
        ADMIN_LISTEN: `127.0.0.1:${admin}`,
      },
      logFile: join(folder, 'gateway.log'),
    });
    gateway = started;
    started.start();
    await waitFor('the gateway', async () => {
      const answer = await request(`${adminUrl}/readyz`).catch(() => undefined);
      await answer?.body.dump();
      return answer?.statusCode === 200;
    });
    return started;
  }
  async function call(iss: string) {
    const seconds = Math.floor(Date.now() / 1000);
    const claims = { iss, aud: audience, exp: seconds + 600, client_id: 'c', scope: 'cws:application:read' };
    const answer = await request(`${apiUrl}/v1/applications/a`, {
      headers: { authorization: `Bearer ${signToken(key, claims)}` },
    });
    const { statusCode, headers } = answer;
    return { statusCode, retryAfter: headers['retry-after'], body: await answer.body.text() };
  }
  const status = async () => {
    const run = await ctlWith({ GATEWAY_ADMIN: adminUrl, ADMIN_URL: adminUrl }, '--json', 'status');
    return { exitCode: run.exitCode, warnings: JSON.parse(run.out).services[0].warnings };
  };
  const warns = async (expected: RegExp) => {
    const found = await waitFor(`the warning ${expected}`, async () => {
      const now = await status();
      return now.warnings.some(({ message }: { message: string }) => expected.test(message)) && now;
    });
    expect(found).toEqual({
      exitCode: 5,
      warnings: [{ name: 'issuer_unavailable', message: expect.stringMatching(expected) }],
    });
  };
  const metrics = async () => (await request(`${adminUrl}/metrics`)).body.text();
  const cannotCheck = {
    statusCode: 503,
    retryAfter: expect.stringMatching(/^[1-9]/),
    body: expect.stringContaining('Access tokens cannot be checked at the moment.'),
  };

  it('a wrong issuer: calls get 503 with Retry-After, the log names the issuer, and after a fix no restart is needed', async () => {
    const issuer: TestIssuer = await startTestIssuer([key]);
    closers.push(() => issuer.close());
    issuer.discoveryIssuer = 'https://other.example.com';
    const { log } = await startGateway(issuer.url);
    expect(await call(issuer.url)).toMatchObject(cannotCheck);
    expect((await request(`${adminUrl}/readyz`)).statusCode).toBe(200);
    expect(await status()).toEqual({
      exitCode: 5,
      warnings: [
        {
          name: 'issuer_unavailable',
          message: `${issuer.url}: the discovery document names another issuer than ${issuer.url}; no access token can be checked, calls get 503`,
        },
      ],
    });
    await waitFor('the log', () =>
      log().includes(`the discovery document names another issuer than ${issuer.url}`),
    );
    expect(log()).toContain("the issuer's keys cannot be fetched");
    expect(await metrics()).not.toMatch(/^headset_gateway_issuer_keys_age_seconds/m);
    issuer.discoveryIssuer = issuer.url;
    await waitFor('the keys', async () => {
      await call(issuer.url);
      return /^headset_gateway_issuer_keys_age_seconds/m.test(await metrics());
    });
    expect(await status()).toEqual({ exitCode: 0, warnings: [] });
    // The token is accepted: only the services are missing.
    expect((await call(issuer.url)).body).not.toContain('Access tokens');
    // A token of another issuer is the caller's mistake.
    expect((await call('https://other.example.com')).statusCode).toBe(401);
  });

  it('an expired certificate of the issuer: calls get 503 with Retry-After, and the log has the reason', async () => {
    const server = createHttps(expiredCertificate, (_, response) => response.end('{}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => server.close());
    const issuer = `https://localhost:${((server as Server).address() as AddressInfo).port}`;
    const { log } = await startGateway(issuer);
    // Before the first call, so that operators see it after an installation.
    await warns(new RegExp(`^${issuer}: certificate has expired; `));
    expect(await call(issuer)).toMatchObject(cannotCheck);
    await waitFor('the log', () => log().includes('certificate has expired'));
    expect(log()).toContain("the issuer's keys cannot be fetched");
  });

  it('an issuer without keys, or an unavailable issuer, is a warning of ctl status, also before the first call', async () => {
    const issuer = await startTestIssuer([]);
    let open = true;
    const close = async () => {
      if (open) await issuer.close();
      open = false;
    };
    closers.push(close);
    await startGateway(issuer.url);
    await warns(/: the issuer publishes no usable key; no access/);
    await close();
    await warns(/: connect ECONNREFUSED \S+; no access token can/);
  });
});
