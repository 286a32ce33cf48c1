import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { countIn } from './forgetting.ts';
import { describeOnStack } from './harness.ts';
import { type OwnPlatform, openOwnPlatform } from './own-platform.ts';

describeOnStack('secrets that a headset is sent', () => {
  let own: OwnPlatform;
  beforeAll(async () => {
    own = await openOwnPlatform({});
  }, 180_000);
  afterAll(() => own?.close());

  /** The collections with each of the texts, and the log files. */
  async function places(texts: readonly string[]): Promise<string[][]> {
    const folder = join(own.stack.dataDir, 'logs');
    const logs = readdirSync(folder).map((name) => ({
      name,
      text: readFileSync(join(folder, name), 'utf8'),
    }));
    const stored = await Promise.all(texts.map((text) => countIn(own, text)));
    return texts.map((secret, n) => [
      ...(stored[n]?.keys() ?? []),
      ...logs.filter(({ text }) => text.includes(secret)).map(({ name }) => name),
    ]);
  }

  // protects against stores/ended-secret
  it('are stored only in waiting transactions, and nowhere after their transactions have ended', async () => {
    const { deviceId } = own;
    const secrets = ['of-an-access-point-81', 'of-a-wifi-network-82', 'of-a-commands-extras-83'];
    const [ofApn, ofWifi, ofExtras] = secrets as [string, string, string];
    const apn = { name: 'Carrier', apn: 'internet', mcc: '440', mnc: '10', user: 'user', password: ofApn };
    const wifi = { ssid: 'office', password: ofWifi, security: 'WPA' };
    const { arrivals } = await own.receiver(() => 204);
    const ids = await Promise.all([
      own.call(201, 'PUT', `/devices/${deviceId}/settings/apn`, [apn]),
      own.call(201, 'PUT', `/devices/${deviceId}/settings/wifi`, [wifi]),
      own.call(201, 'PUT', `/devices/${deviceId}/commands`, {
        ...{ package: 'com.example.app', launchType: 'activity', extras: { token: ofExtras } },
      }),
    ]).then((answers) => answers.map(({ body }) => body.transactionId));
    expect(await places(secrets)).toEqual(secrets.map(() => ['transactions.transactions']));

    const headset = own.headset();
    headset.connect();
    await waitFor('the ends', () =>
      ids.every((id) =>
        arrivals.some(({ body }) => body.transactionId === id && body.notificationType === 'processed'),
      ),
    );
    expect(headset.device.state).toMatchObject({ apns: [apn], wifi: [wifi] });
    await waitFor('their removal', async () => (await places(secrets)).flat().length === 0);
    expect(JSON.stringify(arrivals.map(({ body }) => body))).not.toMatch(new RegExp(secrets.join('|')));
  });
});
