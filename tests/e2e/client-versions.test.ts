import { randomUUID } from 'node:crypto';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

const keys = {
  'key-config': [
    { 'key-name': 'left', 'key-event': 'first-pressed', 'key-action': { 'action-type': 'none' } },
  ],
};

/** The operations that need a minimum version of the client (rule C14), with this version. */
const operations = [
  {
    what: 'launcher keys',
    minimum: '2.1.1',
    older: '2.1.0',
    operationId: 'put-v1-applications-devices-apps-launcher-keys',
    call: ['PUT', '/apps/launcher/keys', keys] as const,
    end: (message: string) => ({ notificationType: 'processed', result: 'failure', message }),
  },
  {
    what: 'connectivity',
    minimum: '2.3.1',
    older: '2.3.0',
    operationId: 'get-v1-applications-connectivity-list',
    call: ['GET', '/connectivity?target=all', undefined] as const,
    end: (message: string) => ({
      message,
      networkType: 'bluetooth',
      target: 'all',
      statusCode: 500,
      devices: [],
    }),
  },
  {
    what: 'uninstall',
    minimum: '3.4.0',
    older: '3.3.10',
    operationId: 'delete-v1-applications-devices-package',
    call: ['DELETE', '/package/com.example.app', undefined] as const,
    end: (message: string) => ({
      notificationType: 'processed',
      result: 'failure',
      message,
      package: 'com.example.app',
    }),
  },
];

describeOnStack('minimum client versions', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant({ devices: operations.length * 2 + 4 });
  });
  afterAll(() => tenant.close());

  /** Waits until devices knows the versions of the headset's hello: transactions may know them earlier. */
  const known = (device: HeadsetKeyFile | undefined, firmwareVersion = '9.001.0') =>
    waitFor('the versions in devices', async () => {
      const { body } = await tenant.call(200, 'GET', `/devices/${device?.deviceId}/status`);
      return body.firmware?.version === firmwareVersion;
    });

  // proves api/6/client-connectivity, api/6/client-launcher, api/6/client-uninstall
  it.each(operations.map((o, i) => ({ ...o, device: 2 * i })))(
    '$what: if a client of unknown version is older than $minimum, the end names both versions; a known one is 400',
    async ({ minimum, older, operationId, call, end, device: index }) => {
      const device = tenant.devices[index];
      const path = `/devices/${device?.deviceId}${call[1]}`;
      await tenant.activate(device);
      const id: number = (await tenant.call(201, call[0], path, call[2])).body.transactionId;
      const headset = tenant.headset(device, { clientVersion: older });
      headset.connect();
      const [callback] = await waitFor('the end', () => {
        const found = tenant.callbacks(id);
        return found.length > 0 && found;
      });
      expect(callback?.body).toEqual({
        applicationId: tenant.applicationId,
        deviceId: device?.deviceId,
        timestamp: expect.any(Number),
        transactionId: id,
        operationId,
        ...end(`The device's client version ${older} is older than ${minimum}, which this operation needs.`),
      });
      expect(await tenant.status(id)).toBe('processed');
      await waitFor('the headset to delete the transaction', () => !headset.journal.held.has(id));
      expect(headset.effects.has(id)).toBe(false);
      await known(device);
      const refused = await tenant.call(400, call[0], path, call[2]);
      expect(refused.body.message).toContain(older);
      expect(refused.body.message).toContain(minimum);
      expect(tenant.callbacks(id)).toHaveLength(1);
    },
  );

  it.each(operations.map((o, i) => ({ ...o, device: 2 * i + 1 })))(
    '$what: an unknown client of exactly $minimum starts it',
    async ({ minimum, call, device: index }) => {
      const device = tenant.devices[index];
      await tenant.activate(device);
      const path = `/devices/${device?.deviceId}${call[1]}`;
      const id: number = (await tenant.call(201, call[0], path, call[2])).body.transactionId;
      tenant.headset(device, { clientVersion: minimum }).connect();
      await waitFor('both callbacks', () => tenant.callbacks(id).length === 2);
      expect(tenant.callbacks(id)[0]?.body['notificationType']).toBe('accepted');
      expect(await tenant.status(id)).toBe('processed');
    },
  );

  /** One call of each operation of connectivity (rules C14 and A13). */
  const connectivity = [
    ['GET', '', undefined],
    ['GET', '/bluetooth/state', undefined],
    ['PUT', '/bluetooth/state', { state: 'enabled' }],
    ['DELETE', '/bluetooth/reset', undefined],
    ['POST', '/bluetooth', { macAddress: '02:00:00:00:00:0A' }],
    ['PUT', '/bluetooth', { macAddress: '02:00:00:00:00:0A', state: 'connect' }],
    ['DELETE', '/bluetooth', { macAddress: '02:00:00:00:00:0A' }],
  ] as const;
  const tooOld = (version: string) =>
    `The device's firmware version ${version} is older than 9.001.0, which this operation needs.`;
  const nth = (n: number) => tenant.devices[operations.length * 2 + n];
  const below = (n: number) => `/devices/${nth(n)?.deviceId}/connectivity`;
  const list = async (n: number): Promise<number> =>
    (await tenant.call(201, 'GET', below(n))).body.transactionId;

  // proves api/6/firmware-connectivity
  it.each([
    ['9.000.99', 0],
    ['8', 1],
  ])(
    'connectivity: if a firmware of unknown version is %s, the failure names both versions',
    async (old, n) => {
      await tenant.activate(nth(n));
      const id = await list(n);
      const headset = tenant.headset(nth(n), { firmwareVersion: old });
      headset.connect();
      const [callback] = await waitFor('the end', () => {
        const found = tenant.callbacks(id);
        return found.length > 0 && found;
      });
      expect(callback?.body).toMatchObject({ message: tooOld(old), statusCode: 500, devices: [] });
      expect(await tenant.status(id)).toBe('processed');
      await waitFor('the headset to delete the transaction', () => !headset.journal.held.has(id));
      expect(headset.effects.has(id)).toBe(false);
      expect(tenant.callbacks(id)).toHaveLength(1);
      await known(nth(n), old);
      await headset.close();
    },
  );

  // proves api/6/firmware-connectivity
  it.each(connectivity)(
    'connectivity: %s %s for a firmware that is known to be older is 400 and stores nothing',
    async (method, path, body) => {
      const key = { 'idempotency-key': randomUUID() };
      const before = await tenant.transactions();
      const refused = await tenant.call(400, method, below(0) + path, body, key);
      expect(refused.body).toEqual({ message: tooOld('9.000.99') });
      expect(await tenant.transactions()).toEqual(before);
      // Checked again: the rejection was not stored under the key.
      expect((await tenant.call(400, method, below(0) + path, body, key)).body).toEqual(refused.body);
    },
  );

  it.each([
    ['9.001.0', 2],
    ['9.1', 3],
  ])('connectivity: an unknown firmware that turns out to be %s starts it', async (firmwareVersion, n) => {
    await tenant.activate(nth(n));
    const id = await list(n);
    tenant.headset(nth(n), { firmwareVersion }).connect();
    await waitFor('both callbacks', () => tenant.callbacks(id).length === 2);
    expect(await tenant.status(id)).toBe('processed');
  });

  it('connectivity: a firmware that became new enough during the session counts', async () => {
    const device = nth(1);
    const headset = tenant.headset(device, { firmwareVersion: '8' });
    headset.connect();
    await waitFor('the session', () => headset.sessionEpoch > 0);
    expect((await tenant.call(400, 'GET', below(1))).body).toEqual({ message: tooOld('8') });
    const key = { 'idempotency-key': randomUUID() };
    await tenant.call(400, 'GET', below(1), undefined, key);
    headset.changeContent({ firmwareVersion: '9.002.0' });
    const id = await waitFor('the firmware version', async () => {
      const answer = await tenant.api.app('GET', below(1), undefined, key);
      return answer.status === 201 && (answer.body.transactionId as number);
    });
    await waitFor('both callbacks', () => tenant.callbacks(id).length === 2);
    expect(tenant.callbacks(id)[1]?.body).toMatchObject({ statusCode: 200 });
  });
});
