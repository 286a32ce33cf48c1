import { randomBytes } from 'node:crypto';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import type { Activate } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { HeadsetKeyFile } from '@headset-cloud/rules/headset-key.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { admin, createTenant, describeOnStack, imei, type Tenant } from './harness.ts';
import { everyRoute } from './routes.ts';

const overLimit = { message: 'not contracted or activation limit exceeded.' };
const inUse = { message: 'ClientId is already in use.' };
const byAnother = { message: 'The device is activated by another application.' };
const notActivated = { message: 'The device is not activated.' };
const activationOperation = 'post-v1-applications-devices';

const freshClientId = () => `app-${randomBytes(6).toString('hex')}`;
const path = (device: HeadsetKeyFile | undefined) => `/devices/${device?.deviceId}`;

describeOnStack('activation', () => {
  const open: Tenant[] = [];
  const newTenant = async (options: Parameters<typeof createTenant>[0]): Promise<Tenant> => {
    const made = await createTenant(options);
    open.push(made);
    return made;
  };
  afterAll(() => Promise.all(open.map((t) => t.close())));

  const activation = async (tenant: Tenant, device = tenant.devices[0]) =>
    (await tenant.call(200, 'GET', path(device))).body;
  const slots = async (tenant: Tenant) =>
    (await admin().devices.getContract({ applicationId: tenant.applicationId })).contract?.activated;
  const activate = (tenant: Tenant, status: number, clientId: string, device = tenant.devices[0]) =>
    tenant.call(status, 'POST', path(device), { clientId });
  const deactivate = (tenant: Tenant, device = tenant.devices[0]) => tenant.call(201, 'DELETE', path(device));

  // proves api/3/activation-status, api/4/activation
  it('reads never activated, activated and deactivated in the documented forms', async () => {
    const tenant = await newTenant({ devices: 1 });
    const deviceId = tenant.devices[0]?.deviceId;
    const none = { deviceId, activated: false, clientId: null, status: 'deactivated' };
    expect(await activation(tenant)).toEqual(none);
    const clientId = freshClientId();
    const answer = await activate(tenant, 201, clientId);
    const id = answer.body.transactionId;
    expect(answer.body).toEqual({ transactionId: expect.any(Number) });
    expect(answer.headers['location']).toBe(`/v1/applications/${tenant.applicationId}/transactions/${id}`);
    expect(await activation(tenant)).toEqual({ deviceId, activated: true, clientId, status: 'activated' });
    await deactivate(tenant);
    expect(await activation(tenant)).toEqual(none);
    expect((await tenant.transactions()).map((t) => [t.operationId, t.transactionStatus])).toEqual([
      [activationOperation, 'canceled'],
      ['delete-v1-applications-devices', 'published'],
    ]);
  });

  it('a device unknown to the platform reads as never activated and is not contracted', async () => {
    const tenant = await newTenant({ devices: 1 });
    const deviceId = imei();
    expect((await tenant.call(200, 'GET', `/devices/${deviceId}`)).body).toEqual({
      ...{ deviceId, activated: false, clientId: null, status: 'deactivated' },
    });
    const refused = await tenant.call(403, 'POST', `/devices/${deviceId}`, { clientId: freshClientId() });
    expect(refused.body).toEqual(overLimit);
  });

  // proves api/8/not-contracted
  it('enforces the contract’s limit, frees a slot with a deactivation, and lists no third device', async () => {
    const tenant = await newTenant({ devices: 3, activationLimit: 2 });
    const [one, two, three] = tenant.devices;
    await activate(tenant, 201, freshClientId(), one);
    await activate(tenant, 201, freshClientId(), two);
    const before = await tenant.transactions();
    expect((await activate(tenant, 403, freshClientId(), three)).body).toEqual(overLimit);
    expect(await activation(tenant, three)).toMatchObject({ activated: false });
    expect(await tenant.transactions()).toEqual(before);
    await deactivate(tenant, one);
    await activate(tenant, 201, freshClientId(), three);
    expect((await activate(tenant, 403, freshClientId(), one)).body).toEqual(overLimit);
    expect(await slots(tenant)).toBe(2);
  });

  it('of many concurrent first activations exactly as many succeed as the contract has slots', async () => {
    const tenant = await newTenant({ devices: 8, activationLimit: 3 });
    const answers = await Promise.all(
      tenant.devices.map((d) => tenant.api.app('POST', path(d), { clientId: freshClientId() })),
    );
    expect(answers.map((a) => a.status).toSorted()).toEqual([201, 201, 201, 403, 403, 403, 403, 403]);
    for (const a of answers) if (a.status === 403) expect(a.body).toEqual(overLimit);
    expect(await slots(tenant)).toBe(3);
  });

  it('is not rejected because another call reserves the last slot, is rejected and releases the slot', async () => {
    const tenant = await newTenant({ devices: 3, activationLimit: 2 });
    const [one, other, third] = tenant.devices;
    const post = async (device: HeadsetKeyFile | undefined, clientId: string) =>
      (await tenant.api.app('POST', path(device), { clientId })).status;
    for (let round = 0; round < 8; round += 1) {
      const same = freshClientId();
      const statuses = await Promise.all([post(one, same), post(other, same), post(third, freshClientId())]);
      expect([statuses[2], statuses.slice(0, 2).toSorted()]).toEqual([201, [201, 403]]);
      await deactivate(tenant, third);
      await deactivate(tenant, statuses[0] === 201 ? one : other);
    }
    expect(await slots(tenant)).toBe(0);
  });

  // protects against rest/imei
  it('rejects a device that is not or no longer part of the contract', async () => {
    const tenant = await newTenant({ devices: 2 });
    const [named, other] = tenant.devices;
    await admin().devices.putContract({
      applicationId: tenant.applicationId,
      activationLimit: 100,
      removeDeviceIds: [other?.deviceId ?? ''],
    });
    expect((await activate(tenant, 403, freshClientId(), other)).body).toEqual(overLimit);
    await activate(tenant, 201, freshClientId(), named);
    expect(await tenant.transactions()).toHaveLength(1);
  });

  // proves api/8/client-id-in-use
  // protects against rest/client-id
  it('a client id is unique on the platform, and free again after the deactivation', async () => {
    const one = await newTenant({ devices: 2 });
    const two = await newTenant({ devices: 1 });
    const clientId = freshClientId();
    await activate(one, 201, clientId);
    expect((await activate(one, 403, clientId, one.devices[1])).body).toEqual(inUse);
    expect((await activate(two, 403, clientId)).body).toEqual(inUse);
    expect((await two.call(403, 'POST', path(two.devices[0]), { mimiClientId: clientId })).body).toEqual(
      inUse,
    );
    expect(await slots(two)).toBe(0);
    expect(await two.transactions()).toEqual([]);
    await deactivate(one);
    await activate(two, 201, clientId);
    expect(await activation(two)).toMatchObject({ clientId });
    expect((await activate(one, 403, clientId)).body).toEqual(inUse);
  });

  it('repeated with the same client id: 201 with a new transaction, no second slot, and no loss of waiting operations', async () => {
    const tenant = await newTenant({ devices: 1, activationLimit: 1 });
    const clientId = freshClientId();
    const first = (await activate(tenant, 201, clientId)).body.transactionId;
    const command = await tenant.command();
    const second = (await activate(tenant, 201, clientId)).body.transactionId;
    expect(second).toBeGreaterThan(command);
    expect(await slots(tenant)).toBe(1);
    const headset = tenant.headset();
    headset.connect();
    expect(await tenant.ended(second)).toMatchObject({ operationId: activationOperation, result: 'success' });
    expect(await tenant.ended(command)).toMatchObject({ result: 'success' });
    expect(await tenant.ended(first)).toMatchObject({
      message: 'The transaction was canceled because there is a new transaction.',
    });
  });

  it('another client id replaces the first one, which can then be used again', async () => {
    const tenant = await newTenant({ devices: 2, activationLimit: 2 });
    const [device, other] = tenant.devices;
    const [first, second] = [freshClientId(), freshClientId()];
    await activate(tenant, 201, first);
    await activate(tenant, 201, second);
    expect(await activation(tenant, device)).toMatchObject({ activated: true, clientId: second });
    expect(await slots(tenant)).toBe(1);
    expect((await activate(tenant, 403, second, other)).body).toEqual(inUse);
    await activate(tenant, 201, first, other);
    // A rejected replacement changes nothing.
    expect((await activate(tenant, 403, first, device)).body).toEqual(inUse);
    expect(await activation(tenant, device)).toMatchObject({ clientId: second });
  });

  it.each(['other developer', 'same developer'])(
    'activated by another application (%s): 403 for every call on the device, and nothing changes',
    async (kind) => {
      const owner = await newTenant({ devices: 1 });
      const other = await newTenant({
        alsoDevices: owner.devices,
        ...(kind === 'same developer' && { sameDeveloperAs: owner }),
      });
      const clientId = freshClientId();
      await activate(owner, 201, clientId);
      const before = await owner.transactions();
      const on = path(owner.devices[0]);
      const command = { package: 'a', launchType: 'activity' };
      for (const [method, at, body] of [
        ['GET', on],
        ['POST', on, { clientId: freshClientId() }],
        ['POST', on, { clientId }],
        ['DELETE', on],
        ['GET', `${on}/status`],
        ['PUT', `${on}/commands`, command],
      ] as const) {
        expect((await other.call(403, method, at, body)).body).toEqual(byAnother);
      }
      expect((await other.call(200, 'GET', '/devices/status')).body).toEqual({ devices: [] });
      expect(await owner.transactions()).toEqual(before);
      expect(await other.transactions()).toEqual([]);
      expect(await activation(owner)).toMatchObject({ activated: true, clientId });
      // Once it is free, the other one may have it.
      await deactivate(owner);
      await activate(other, 201, freshClientId());
      expect((await owner.call(403, 'GET', on)).body).toEqual(byAnother);
      expect((await owner.call(403, 'PUT', `${on}/commands`, command)).body).toEqual(byAnother);
    },
  );

  // proves api/6/deactivated, api/8/403-not-activated
  it('never activated, and deactivated: every call on the device is rejected', async () => {
    const tenant = await newTenant({ devices: 1 });
    const deviceId = tenant.devices[0]?.deviceId ?? '';
    const on = path(tenant.devices[0]);
    // Reading and changing the activation, and canceling, need no activated device. Updates need a version of the
    // catalogue: updates.test.ts has them.
    const others = [
      `GET ${on}`,
      `POST ${on}`,
      `DELETE ${on}/transactions`,
      `PUT ${on}/apps`,
      `PUT ${on}/firmware`,
    ];
    const routes = everyRoute(deviceId, 1, '').filter(
      ({ method, path: at }) => at.startsWith(on) && !others.includes(`${method} ${at}`),
    );
    expect(routes.length).toBe(16);
    const refuseAll = async () => {
      for (const { method, path: at, body } of routes) {
        const answer = await tenant.call(403, method, at, body);
        expect([method, at, answer.body]).toEqual([method, at, notActivated]);
      }
    };
    await refuseAll();
    expect(await tenant.transactions()).toEqual([]);
    await activate(tenant, 201, freshClientId());
    await deactivate(tenant);
    const before = await tenant.transactions();
    await refuseAll();
    expect(await tenant.transactions()).toEqual(before);
  });

  describe('body', () => {
    let tenant: Tenant;
    let headset: Headset;
    const offered: Activate[] = [];
    beforeAll(async () => {
      tenant = await newTenant({ devices: 1 });
      headset = tenant.headset();
      headset.on('received', ({ body }) => {
        if (body.case !== 'offer') return;
        const kind = body.value.operation?.kind;
        if (kind?.case === 'activate') offered.push(kind.value);
      });
      headset.connect();
      await waitFor('the session', () => headset.sessionEpoch > 0);
    });

    it.each([
      ['clientId', (id: string) => ({ clientId: id }), ''],
      ['mimiClientId', (id: string) => ({ mimiClientId: id }), ''],
      [
        'mimiClientId and mimiClientSecret',
        (id: string) => ({ mimiClientId: id, mimiClientSecret: 'hush-hush-hush' }),
        'hush-hush-hush',
      ],
    ])(
      '%s: the headset gets it whole, and nothing read ever shows a secret',
      async (_, body, clientSecret) => {
        const clientId = freshClientId();
        const answer = await tenant.call(201, 'POST', path(tenant.devices[0]), body(clientId));
        const end = await tenant.ended(answer.body.transactionId);
        const { applicationId } = tenant;
        expect(offered.at(-1)).toMatchObject({ applicationId, clientId, clientSecret });
        const read = await activation(tenant);
        expect(read).toMatchObject({ activated: true, clientId });
        const shown = JSON.stringify([read, end, answer, await tenant.transactions()]);
        expect(shown).not.toContain('hush');
      },
    );

    it.each<[string, unknown]>([
      ['neither', {}],
      ['both', { clientId: 'a', mimiClientId: 'b' }],
      ['a secret without its id', { mimiClientSecret: 's' }],
      ['a secret with clientId', { clientId: 'a', mimiClientSecret: 's' }],
      ['an empty id', { clientId: '' }],
      ['an empty mimi id', { mimiClientId: '' }],
      ['a number', { clientId: 1 }],
      ['null', { clientId: null }],
      ['256 characters', { clientId: 'x'.repeat(256) }],
      ['an unknown field', { clientId: 'a', activated: true }],
      ['an array', [{ clientId: 'a' }]],
      ['a string', '"a"'],
    ])('%s is 400 and changes nothing', async (_, body) => {
      const before = [await activation(tenant), await tenant.transactions()];
      const answer = await tenant.call(400, 'POST', path(tenant.devices[0]), body);
      expect(answer.body).toEqual({ message: 'Invalid request body' });
      expect(answer.headers['x-error-detail']).toMatch(/^[ -~]{1,256}$/);
      expect([await activation(tenant), await tenant.transactions()]).toEqual(before);
    });

    it('an id of 255 characters is accepted', async () => {
      const clientId = freshClientId().padEnd(255, 'x');
      await activate(tenant, 201, clientId);
      expect(await activation(tenant)).toMatchObject({ clientId });
    });
  });

  it.each(['12345678901234', '1234567890123456', '35000000000000x', '%EF%BC%93'.repeat(15), '%00', '*'])(
    'the device id %s is 404 on every path',
    async (deviceId) => {
      const tenant = open[0] as Tenant;
      const at = `/devices/${deviceId}`;
      const wrong = { message: 'The path parameter deviceId is not valid.' };
      for (const [method, more] of [
        ['GET', ''],
        ['POST', ''],
        ['DELETE', ''],
        ['GET', '/status'],
        ['PUT', '/commands'],
        ['DELETE', '/transactions'],
      ] as const) {
        const body = method === 'POST' || method === 'PUT' ? {} : undefined;
        expect((await tenant.call(404, method, at + more, body)).body).toEqual(wrong);
      }
    },
  );
});
