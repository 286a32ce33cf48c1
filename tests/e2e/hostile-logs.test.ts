import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mintToken } from '@headset-cloud/demo/headset/identity.ts';
import { RawHeadset } from '@headset-cloud/device-link/testing/raw-headset.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, stack, type Tenant } from './harness.ts';
import { rawRequest } from './raw-http.ts';
import { startSora } from './sora.ts';

/** Values of callers and headsets that imitate lines or fields of the platform's logs. */
describeOnStack('hostile values and the logs', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant();
    await tenant.activate();
  });
  afterAll(() => tenant.close());

  const mark = `forged-${randomBytes(6).toString('hex')}`;
  const line = `{"level":"fatal","message":"${mark}"}`;
  const value = `a\r\n${line}\n\u2028${line}\u001b[2J","level":"fatal","message":"${mark}`;
  const logs = () => {
    const folder = join(stack.dataDir, 'logs');
    return readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
  };

  // protects against rest/log-injection, headsets/log-injection, sora/log-injection
  it('create no line and no field: they are logged within one field of one JSON object', async () => {
    const escaped = encodeURIComponent(value);
    const token = await tenant.api.token();
    for (const path of [`/${escaped}`, `/v1/applications/${escaped}`, `/v1/applications/a?${escaped}`]) {
      for (const id of [escaped, line.replaceAll(/[^ -~]/g, '')]) {
        await rawRequest([
          `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nX-Request-Id: ${id}\r\n\r\n`,
        ]);
      }
    }
    await rawRequest([`GET / HTTP/1.1\r\nHost: a\r\nX: ${mark}\n${line}\r\n\r\n`]);
    await tenant.call(404, 'GET', `/devices/${escaped}`);
    await tenant.call(201, 'PUT', `/devices/${tenant.devices[0]?.deviceId}/commands`, {
      ...{ package: 'a', launchType: 'activity', action: value.slice(0, 128) },
    });

    const key = tenant.devices[0] as HeadsetKeyFile;
    const authorization = `Bearer ${mintToken(key, 'headset-cloud/device-link', Date.now())}`;
    const headset = new RawHeadset(Number(stack.deviceLinkUrl.split(':')[1]), authorization);
    headset.hello({ clientVersion: value.slice(0, 64), firmwareVersion: value, apps: [{ package: value }] });
    await waitFor('the end, or the welcome', () => headset.end ?? headset.received[0]);
    headset.close();
    await tenant.ended(await command(tenant));

    // The log contains the id of an unknown channel, so that operators can search for it.
    const { sora, close } = await startSora();
    expect(await sora.created(sora.join(value)).send()).toBe(200);
    await close();
    const marked = await waitFor('the id of the channel in the log', () => {
      const found = logs().filter((one) => one.includes(mark));
      return found.length > 0 && found;
    });
    for (const one of marked) {
      expect(JSON.parse(one)).toMatchObject({
        level: 'warn',
        channelId: value,
        message: expect.stringContaining('Sora event'),
      });
    }
  });
});

/** A command that a headset runs, so that everything before it has been handled. */
async function command(tenant: Tenant): Promise<number> {
  tenant.headset().connect();
  return tenant.command();
}
