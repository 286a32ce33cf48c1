import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '@headset-cloud/demo/api.ts';
import { startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import { createAdmin, provisionApplication, provisionDevice } from '@headset-cloud/demo/provision.ts';
import { startStack } from '@headset-cloud/demo/stack/stack.ts';
import { type ConnectProxy, startConnectProxy } from '@headset-cloud/outbound/testing/connect-proxy.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { imei } from './harness.ts';

const client = { clientId: 'proxied', clientSecret: randomBytes(24).toString('hex') };

describe('a platform with an egress proxy', () => {
  let proxy: ConnectProxy;
  const closers: (() => unknown)[] = [];
  beforeEach(async () => {
    proxy = await startConnectProxy();
    closers.push(() => proxy.close());
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  /** Starts a platform and cancels a transaction; resolves when the callback has arrived. */
  async function callback(env: Record<string, string>): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-proxied-'));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const integrator = await startIntegrator();
    closers.push(() => integrator.close());
    const stack = await startStack({
      ...{ kind: 'embedded', dataDir: folder, clients: [client] },
      env: { EGRESS_PROXY: proxy.origin, ...env },
    });
    closers.push(() => stack.stop());
    const admin = createAdmin(stack.admin);
    const { deviceId } = await provisionDevice(admin, imei());
    const applicationId = await provisionApplication(admin, {
      ...{ developerId: 'proxied', clientIds: [client.clientId], name: 'proxied', activationLimit: 1 },
      deviceIds: [deviceId],
    });
    const api = createApiClient({ apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client });
    closers.push(() => api.close());
    await api.app('PATCH', '', { deviceEvent: integrator.url });
    integrator.keys.push((await api.app('POST', '/refresh_authkey')).body.authenticationKey);
    // The deactivation cancels it, because no headset has received it.
    expect((await api.app('POST', `/devices/${deviceId}`, { clientId: 'proxied' })).status).toBe(201);
    expect((await api.app('DELETE', `/devices/${deviceId}`)).status).toBe(201);
    await waitFor('the callback', () => integrator.received.length > 0);
    return new URL(integrator.url).host;
  }

  it('reaches addresses of its machine directly', async () => {
    await callback({});
    expect(proxy.asked).toEqual([]);
  }, 60_000);

  it('sends callbacks through it, and fetches the issuer’s keys through it', async () => {
    const host = await callback({ EGRESS_NO_PROXY: 'nothing.example' });
    expect(proxy.asked).toContain(host);
    // The other host is the issuer.
    expect(new Set(proxy.asked).size).toBe(2);
  }, 60_000);
});
