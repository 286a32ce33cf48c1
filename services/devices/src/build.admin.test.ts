import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { callerOf, imei, openWorld, provision, testConfig, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const caller = callerOf('app');

describe('ownership', () => {
  const authorize = (clientId: string, applicationId: string) =>
    world.applications.authorizeApplication({ clientId, applicationId });

  test("a developer's client may use only the applications of its developer", async () => {
    await provision(world);
    await world.admin.putDeveloper({ developer: { developerId: 'dev2', clientIds: ['client2'] } });
    expect((await authorize('dev-client', 'app')).developerId).toBe('dev');
    await expect(authorize('client2', 'app')).rejects.toMatchObject({ code: 'application_forbidden' });
    await expect(authorize('dev-client', 'nope')).rejects.toMatchObject({ code: 'application_forbidden' });
    await expect(authorize('unknown', 'app')).rejects.toMatchObject({ code: 'developer_not_registered' });
  });

  test('a client belongs to one developer; a put replaces the developer’s clients', async () => {
    await world.admin.putDeveloper({ developer: { developerId: 'one', clientIds: ['a', 'b'] } });
    const taken = world.admin.putDeveloper({ developer: { developerId: 'two', clientIds: ['b', 'c'] } });
    await expect(taken).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('b ') });
    await world.admin.putDeveloper({ developer: { developerId: 'one', clientIds: ['a'] } });
    await world.admin.putDeveloper({ developer: { developerId: 'two', clientIds: ['b', 'c'] } });
    expect((await world.admin.listDevelopers({})).developers).toMatchObject([
      { developerId: 'one', clientIds: ['a'] },
      { developerId: 'two', clientIds: ['b', 'c'] },
    ]);
  });
});

describe('settings', () => {
  beforeEach(async () => {
    await world.admin.putDeveloper({ developer: { developerId: 'dev', clientIds: ['dev-client'] } });
    await world.admin.createApplication({ application: { applicationId: 'app', developerId: 'dev' } });
  });
  const read = async () => (await world.applications.getSettings({ applicationId: 'app' })).settings;

  test('given fields are set, removed fields are deleted, other fields stay', async () => {
    await world.applications.updateSettings({
      caller,
      set: { deviceEvent: 'HTTPS://a.example/', soraEvent: 'http://b.example/' },
    });
    const { settings } = await world.applications.updateSettings({
      caller,
      set: { fileUploadEvent: 'https://c.example/' },
      remove: ['soraEvent'],
    });
    expect(settings).toEqual(await read());
    expect(settings?.deviceEvent).toBe('HTTPS://a.example/');
    expect(settings?.fileUploadEvent).toBe('https://c.example/');
    expect(settings?.soraEvent).toBeUndefined();
    expect(settings?.authenticationKey).toBeUndefined();
  });

  test.each([
    ['an address that is not http', { set: { deviceEvent: 'ftp://a' } }],
    ['an address with a control character', { set: { deviceEvent: 'http://a/\u0000' } }],
    ['an address over 255 characters', { set: { deviceEvent: `https://a/${'x'.repeat(250)}` } }],
    ['an empty address', { set: { deviceEvent: '' } }],
    ['an address without a host', { set: { deviceEvent: 'https://:80/' } }],
  ])('%s is rejected, and the error names the field', async (_, change) => {
    await expect(world.applications.updateSettings({ caller, ...change })).rejects.toMatchObject({
      code: 'invalid_body',
      message: '/deviceEvent must be an http or https URL of at most 255 characters.',
    });
  });

  test.each([
    ['the authentication key', { set: { authenticationKey: 'mine' } }],
    ['the removal of something else', { remove: ['authenticationKey'] }],
  ])('%s is rejected', async (_, change) => {
    const call = world.applications.updateSettings({ caller, ...change });
    await expect(call).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  // protects against callbacks/ssrf-addresses, callbacks/ssrf-spellings
  test.each([
    ...['http://10.0.0.1/', 'https://192.168.1.1:8443/a', 'http://172.16.0.1', 'http://127.0.0.1:3000/'],
    ...[
      'http://169.254.169.254/latest/meta-data',
      'http://[fd00::1]/',
      'http://[::1]:80/',
      'http://[fe80::1]/',
    ],
    ...[
      'http://[::ffff:10.0.0.1]/',
      'http://0x7f.1/',
      'http://2130706433/',
      'http://0177.0.0.1',
      'http://127.1',
    ],
    ...[
      'http://0/',
      'http://１２７.0.0.1/',
      'http://%31%30.0.0.1/',
      'http://127.0.0.1./',
      'http:\\\\10.0.0.1/',
    ],
    ...['http://a.example:80@10.0.0.1/', 'http://8.8.8.8@127.0.0.1:443/', 'https://u:p@[fd00::1]:65535/'],
    ...['http://[100:0:0:1::1]/', 'http://[4000::1]/', 'http://[fe00::1]/'],
    ...['http://localhost:3000/', 'http://LOCALHOST/', 'http://app.localhost./'],
  ])(
    'a destination whose address is not public (%s) is rejected at once, and the error names the field',
    async (url) => {
      const before = await read();
      for (const name of ['fileUploadGetUrl', 'noticeEvent']) {
        const call = world.applications.updateSettings({ caller, set: { [name]: url } });
        await expect(call).rejects.toMatchObject({
          code: 'invalid_body',
          message: expect.stringMatching(new RegExp(`^/${name} `)),
        });
      }
      expect(await read()).toEqual(before);
    },
  );

  test.each([
    ...[
      'http://8.8.8.8/',
      'https://[2606:4700::1111]:8443/',
      'http://10.0.0.1@a.example/',
      'https://a.example#@10.0.0.1',
    ],
    // Names are checked at each attempt, because their addresses may change.
    ...[
      'https://10.0.0.1.a.example/',
      'https://intranet/',
      'https://notlocalhost/',
      'https://metadata.google.internal/',
    ],
  ])('a public address or a name (%s) is accepted', async (url) => {
    await world.applications.updateSettings({ caller, set: { soraEvent: url } });
    expect((await read())?.soraEvent).toBe(url);
  });

  test('addresses that the configuration allows for callbacks are accepted, others are not', async () => {
    const trial = await openWorld({ NOTIFIER_ALLOW_ADDRESSES: '127.0.0.0/8,10.1.0.0/16' });
    try {
      await trial.admin.putDeveloper({ developer: { developerId: 'dev', clientIds: ['dev-client'] } });
      await trial.admin.createApplication({ application: { applicationId: 'app', developerId: 'dev' } });
      const put = (url: string) => trial.applications.updateSettings({ caller, set: { deviceEvent: url } });
      for (const url of ['http://127.0.0.1:3000/', 'http://localhost:3000/', 'http://10.1.2.3/'])
        await put(url);
      for (const url of ['http://10.2.0.1/', 'http://[::1]/'])
        await expect(put(url)).rejects.toMatchObject({ code: 'invalid_body' });
    } finally {
      await trial.close();
    }
  });

  test('a registered address stays when other settings change', async () => {
    const url = 'http://10.0.0.1/';
    await world.store
      .collection<{ _id: string; settings: Record<string, string> }>('applications')
      .updateOne({ _id: 'app' }, { $set: { 'settings.deviceEvent': url } });
    await world.applications.updateSettings({ caller, set: { soraEvent: 'https://a.example/' } });
    expect((await read())?.deviceEvent).toBe(url);
  });

  test('if only https is allowed, http is rejected with the reason, and registered URLs stay', async () => {
    const strict = await openWorld({ ENDPOINT_SCHEMES: 'https' });
    try {
      await strict.admin.putDeveloper({ developer: { developerId: 'dev', clientIds: ['dev-client'] } });
      await strict.admin.createApplication({ application: { applicationId: 'app', developerId: 'dev' } });
      const put = (url: string) => strict.applications.updateSettings({ caller, set: { deviceEvent: url } });
      await put('HTTPS://a.example/');
      await expect(put('http://b.example/')).rejects.toMatchObject({
        code: 'invalid_body',
        message: '/deviceEvent must be an https URL; no other is allowed here.',
      });
      const { settings } = await strict.applications.getSettings({ applicationId: 'app' });
      expect(settings?.deviceEvent).toBe('HTTPS://a.example/');
    } finally {
      await strict.close();
    }
  });

  // protects against stores/sealed
  test('a new key replaces the old key before the answer, has 256 bits, and is sealed at rest', async () => {
    const first = await world.applications.refreshAuthenticationKey({ caller });
    const second = await world.applications.refreshAuthenticationKey({ caller });
    expect(second.authenticationKey).not.toBe(first.authenticationKey);
    expect(second.authenticationKey).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const destination = await world.applications.getDestination({
      applicationId: 'app',
      setting: 'deviceEvent',
    });
    expect(destination).toMatchObject({ url: '', authenticationKey: second.authenticationKey });
    expect((await read())?.authenticationKey).toBe(second.authenticationKey);
    const stored = await world.store.collection('applications').find({}).toArray();
    expect(JSON.stringify(stored)).not.toContain(second.authenticationKey);
  });

  test('a repeat with its Idempotency-Key gets the same key and does not undo a later change', async () => {
    const keyed = { caller: callerOf('app', 'key') };
    const first = await world.applications.refreshAuthenticationKey(keyed);
    const later = await world.applications.refreshAuthenticationKey({ caller });
    expect(await world.applications.refreshAuthenticationKey(keyed)).toEqual(first);
    // As after a crash before the answer was stored: the work runs again.
    await world.store.collection('idempotency').updateMany({}, { $unset: { answer: '' } });
    expect(await world.applications.refreshAuthenticationKey(keyed)).toEqual(first);
    expect((await read())?.authenticationKey).toBe(later.authenticationKey);
  });

  test('an unknown application has no settings to read or write', async () => {
    const unknown = { caller: callerOf('nope') };
    await expect(world.applications.getSettings({ applicationId: 'nope' })).rejects.toMatchObject({
      code: 'application_forbidden',
    });
    await expect(world.applications.refreshAuthenticationKey(unknown)).rejects.toMatchObject({
      code: 'application_forbidden',
    });
  });
});

describe('provisioning', () => {
  test('the same application again is a repeat; another owner is a conflict; a missing id is generated', async () => {
    await provision(world);
    await world.admin.putDeveloper({ developer: { developerId: 'dev2' } });
    const application = { applicationId: 'app', developerId: 'dev', name: 'App' };
    await world.admin.createApplication({ application });
    await expect(
      world.admin.createApplication({ application: { ...application, developerId: 'dev2' } }),
    ).rejects.toMatchObject({ code: 'conflict' });
    const drawn = await world.admin.createApplication({ application: { developerId: 'dev2' } });
    expect((await world.admin.listApplications({ developerId: 'dev2' })).applications).toEqual([
      drawn.application,
    ]);
    await expect(
      world.admin.createApplication({ application: { developerId: 'nobody' } }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a contract adds and removes devices; a lower limit allows no new device', async () => {
    await provision(world, { limit: 2, devices: 3 });
    for (const n of [0, 1]) {
      await world.devices.activateDevice({ caller, deviceId: imei(n), clientId: `c${n}` });
    }
    await world.admin.putContract({ applicationId: 'app', activationLimit: 1, removeDeviceIds: [imei(1)] });
    expect((await world.admin.getContract({ applicationId: 'app' })).contract).toMatchObject({
      activationLimit: 1,
      deviceIds: [imei(0), imei(2)],
      activated: 2,
    });
    await world.devices.deactivateDevice({ caller, deviceId: imei(0) });
    const refused = world.devices.activateDevice({ caller, deviceId: imei(2), clientId: 'x' });
    await expect(refused).rejects.toMatchObject({ code: 'activation_limit' });
    await world.devices.deactivateDevice({ caller, deviceId: imei(1) });
    await world.devices.activateDevice({ caller, deviceId: imei(2), clientId: 'x' });
  });

  test('a change without a limit keeps the contract’s limit; without a contract it is rejected', async () => {
    await provision(world, { limit: 2, devices: 1 });
    const keep = { applicationId: 'app', keepActivationLimit: true };
    await world.admin.putContract({ ...keep, addDeviceIds: [imei(1)] });
    const { contract } = await world.admin.putContract({ ...keep, limits: { callsPerSecond: 7 } });
    expect(contract).toMatchObject({
      ...{ activationLimit: 2, deviceIds: [imei(0), imei(1)] },
      limits: { callsPerSecond: 7 },
    });
    for (const n of [0, 1]) {
      await world.devices.activateDevice({ caller, deviceId: imei(n), clientId: `c${n}` });
    }
    await world.admin.createApplication({ application: { applicationId: 'new', developerId: 'dev' } });
    const first = world.admin.putContract({ ...keep, applicationId: 'new', addDeviceIds: [imei(5)] });
    await expect(first).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('ctl contracts put new --limit 10'),
    });
    await expect(world.admin.getContract({ applicationId: 'new' })).rejects.toMatchObject({
      code: 'not_found',
    });
    // No part of the change was stored for a later contract.
    await world.admin.putContract({ applicationId: 'new', activationLimit: 1 });
    expect((await world.admin.getContract({ applicationId: 'new' })).contract?.deviceIds).toEqual([]);
  });

  test("a contract's limits are set one by one, removed together, and returned with the ownership", async () => {
    await provision(world);
    const put = async (limits: object, defaultLimits = false) =>
      (await world.admin.putContract({ applicationId: 'app', activationLimit: 1, limits, defaultLimits }))
        .contract?.limits;
    expect(await put({ callsPerSecond: 7 })).toMatchObject({ callsPerSecond: 7 });
    expect(await put({ callsUnderWay: 3 })).toMatchObject({ callsPerSecond: 7, callsUnderWay: 3 });
    const { limits } = await world.applications.authorizeApplication({
      clientId: 'dev-client',
      applicationId: 'app',
    });
    expect(limits).toMatchObject({
      ...{ callsPerSecond: 7, callsBurst: 14, callsUnderWay: 3 },
      deviceChangesPerSecond: testConfig.LIMIT_DEVICE_CHANGES_PER_SECOND,
    });
    expect((await put({ callsBurst: 9 }, true))?.callsPerSecond).toBeUndefined();
    await expect(put({ callsBurst: 0 })).rejects.toThrow('limits.callsBurst 0 is not a whole number');
  });

  test('a contract with more devices than an answer can contain is read page by page', async () => {
    await provision(world, { limit: 1, devices: 1002 });
    const all = Array.from({ length: 1002 }, (_, n) => imei(n));
    const { contract } = await world.admin.getContract({ applicationId: 'app' });
    expect(contract?.deviceIds).toEqual(all.slice(0, 1000));
    const page = async (afterDeviceId: string, limit: number) =>
      (await world.admin.listContractDevices({ applicationId: 'app', afterDeviceId, limit })).deviceIds;
    expect(await page(imei(999), 1000)).toEqual(all.slice(1000));
    expect(await page('', 2)).toEqual(all.slice(0, 2));
    await expect(page('', 1001)).rejects.toMatchObject({ code: 'invalid_argument' });
    const none = world.admin.listContractDevices({ applicationId: 'none' });
    await expect(none).rejects.toMatchObject({ code: 'not_found' });
  });

  test.each([
    ['an IMEI', () => world.admin.putDevice({ deviceId: '12345' })],
    ['a limit', () => world.admin.putContract({ applicationId: 'app', activationLimit: 10_000_001 })],
    ['an id', () => world.admin.putDeveloper({ developer: { developerId: 'a/b' } })],
    ['a client id', () => world.admin.putDeveloper({ developer: { developerId: 'a', clientIds: ['ü'] } })],
    ['a page', () => world.admin.listDevices({ limit: 1001 })],
  ])('%s that is invalid is rejected with the reason', async (_, call) => {
    await expect(call()).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/ is /),
    });
  });

  // protects against headsets/weak-key
  test('headset keys: only P-256 public keys, under their thumbprint, as device-link gets them', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const publicKeyPem = publicKey.export({ format: 'pem', type: 'spki' }).toString();
    const deviceId = imei(0);
    await expect(world.admin.addHeadsetKey({ deviceId, publicKeyPem })).rejects.toMatchObject({
      code: 'not_found',
    });
    await world.admin.putDevice({ deviceId });
    const { keyId } = await world.admin.addHeadsetKey({ deviceId, publicKeyPem });
    await world.admin.addHeadsetKey({ deviceId, publicKeyPem });
    const { publicKeys } = await world.keys.getHeadsetKeys({ deviceId });
    expect(Object.keys(publicKeys)).toEqual([keyId]);
    expect(createPublicKey(publicKeys[keyId] ?? '').equals(publicKey)).toBe(true);
    expect((await world.admin.getDevice({ deviceId })).device).toMatchObject({
      keyIds: [keyId],
      activated: false,
    });
    await world.admin.removeHeadsetKey({ deviceId, keyId });
    await expect(world.admin.removeHeadsetKey({ deviceId, keyId })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await world.keys.getHeadsetKeys({ deviceId: imei(5) })).publicKeys).toEqual({});
  });

  test.each([
    [
      'a private key',
      () =>
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
          format: 'pem',
          type: 'pkcs8',
        }),
    ],
    [
      'another curve',
      () =>
        generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'pem', type: 'spki' }),
    ],
    ['text', () => 'hello'],
  ])('%s is not a headset key', async (_, pem) => {
    await world.admin.putDevice({ deviceId: imei(0) });
    const call = world.admin.addHeadsetKey({ deviceId: imei(0), publicKeyPem: pem().toString() });
    await expect(call).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});
