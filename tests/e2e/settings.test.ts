import { verifyCallback } from '@headset-cloud/demo/integrator/verify.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';
import { startReceiver } from './receiver.ts';

const names = [
  ...['deviceEvent', 'remoteSupportEvent', 'soraEvent', 'soraFileSendEvent', 'soraRecGetPresignedUrl'],
  ...['soraRecGetMultiPresignedUrl', 'fileUploadEvent', 'fileUploadGetUrl'],
];
const nothingSet = Object.fromEntries(names.map((name) => [name, null]));
const url = (name: string) => `https://integrator.example.com/${name}?a=1&b=%20#x`;

describeOnStack('settings', () => {
  let tenant: Tenant;
  const opened: Tenant[] = [];
  const newTenant = async (options: Parameters<typeof createTenant>[0] = {}) => {
    const made = await createTenant(options);
    opened.push(made);
    return made;
  };
  const settings = async (of = tenant) => (await of.call(200, 'GET', '')).body;
  const patch = async (body: unknown, of = tenant) => (await of.call(200, 'PATCH', '', body)).body;
  beforeAll(async () => {
    tenant = await newTenant({ configure: false });
  });
  afterAll(() => Promise.all(opened.map((t) => t.close())));

  it('return null for unset fields, and no authenticationKey before one was issued', async () => {
    expect(await settings()).toEqual(nothingSet);
  });

  // proves api/3/settings-fields, api/7/patch-settings
  it.each(names)('%s is set, kept through other changes, and removed by null', async (name) => {
    const before = await settings();
    const set = { ...before, [name]: url(name) };
    expect(await patch({ [name]: url(name) })).toEqual(set);
    expect(await settings()).toEqual(set);
    const other = names.find((n) => n !== name) as string;
    expect(await patch({ [other]: 'http://other.example.com' })).toEqual({
      ...set,
      [other]: 'http://other.example.com',
    });
    expect(await patch({ [name]: null, [other]: null })).toEqual(nothingSet);
    expect(await patch({ [name]: null })).toEqual(nothingSet);
  });

  it('can all be set at once, some removed while others are set, and an empty change changes nothing', async () => {
    const all = Object.fromEntries(names.map((name) => [name, url(name)]));
    expect(await patch(all)).toEqual(all);
    expect(await patch({})).toEqual(all);
    const mixed = { ...all, soraEvent: null, deviceEvent: 'http://a' };
    expect(await patch({ soraEvent: null, deviceEvent: 'http://a' })).toEqual(mixed);
    expect(await settings()).toEqual(mixed);
    expect(await patch(nothingSet)).toEqual(nothingSet);
  });

  // proves api/5/settings-url
  it('a URL of 255 characters is accepted, a URL of 256 is 400', async () => {
    const longest = 'https://a.example.com/'.padEnd(255, 'x');
    expect(await patch({ deviceEvent: longest })).toEqual({ ...nothingSet, deviceEvent: longest });
    const answer = await tenant.call(400, 'PATCH', '', { deviceEvent: `${longest}x` });
    expect(answer.body).toEqual({ message: 'Invalid request body' });
    expect(answer.headers['x-error-detail']).toMatch(/^\/deviceEvent .*255/);
    await patch({ deviceEvent: null });
  });

  it.each<[string, unknown, string]>([
    ['an empty address', { deviceEvent: '' }, '/deviceEvent'],
    ['ftp', { deviceEvent: 'ftp://a.example.com' }, '/deviceEvent'],
    ['javascript', { soraEvent: 'javascript:alert(1)' }, '/soraEvent'],
    ['no scheme', { soraEvent: 'a.example.com' }, '/soraEvent'],
    ['a scheme alone', { soraEvent: 'https://' }, '/soraEvent'],
    ['white space', { soraEvent: 'https://a.example.com/ b' }, '/soraEvent'],
    ['a line break', { soraEvent: 'https://a.example.com/\nb' }, '/soraEvent'],
    ['white space before', { soraEvent: ' https://a.example.com/' }, '/soraEvent'],
    ['a port out of range', { soraEvent: 'http://a.example.com:99999/' }, '/soraEvent'],
    ['a number', { deviceEvent: 1 }, '/deviceEvent'],
    ['a list', { deviceEvent: ['https://a.example.com'] }, '/deviceEvent'],
    ['an object', { deviceEvent: { url: 'https://a.example.com' } }, '/deviceEvent'],
    ['an unknown field', { events: 'https://a.example.com' }, '/events'],
    ['a field in other letters', { DeviceEvent: 'https://a.example.com' }, '/DeviceEvent'],
    ['authenticationKey', { authenticationKey: 'x' }, '/authenticationKey'],
    ['authenticationKey as null', { authenticationKey: null }, '/authenticationKey'],
    ['the application’s owner', { developerId: 'me' }, '/developerId'],
    ['the document’s id', { _id: 'x' }, '/_id'],
    ['a name with a dot', { 'settings.deviceEvent': 'https://a' }, '/settings.deviceEvent'],
    ['a list as the body', [], ''],
    ['null as the body', 'null', ''],
    ['no body', '', ''],
    ['one good and one bad', { deviceEvent: 'https://good.example.com', soraEvent: '' }, '/soraEvent'],
  ])('%s is 400 that names the field in X-Error-Detail, and changes nothing', async (_, body, pointer) => {
    const before = await settings();
    const answer = await tenant.call(400, 'PATCH', '', body);
    expect(answer.body).toEqual({ message: 'Invalid request body' });
    expect(answer.headers['x-error-detail']).toMatch(/^[ -~]{1,256}$/);
    expect(String(answer.headers['x-error-detail']).startsWith(pointer)).toBe(true);
    expect(await settings()).toEqual(before);
  });

  it('refresh_authkey returns a new key each time, which the settings then show', async () => {
    const one = await tenant.call(201, 'POST', '/refresh_authkey');
    expect(one.body).toEqual({ authenticationKey: expect.stringMatching(/^[\w-]{43}$/) });
    expect(one.headers['location']).toBeUndefined();
    expect(await settings()).toEqual({ ...nothingSet, ...one.body });
    const two = await tenant.call(201, 'POST', '/refresh_authkey', { ignored: true });
    expect(two.body.authenticationKey).not.toBe(one.body.authenticationKey);
    expect(await settings()).toEqual({ ...nothingSet, ...two.body });
    expect(await patch({ soraEvent: 'https://a' })).toEqual({
      ...{ ...nothingSet, ...two.body, soraEvent: 'https://a' },
    });
  });

  // proves api/4/new-key
  // protects against callbacks/key-change
  it('a new key is used at once: the next callback is signed with it, and not with the old key', async () => {
    const own = await newTenant();
    await own.activate();
    const receiver = await startReceiver(() => 200);
    try {
      await own.call(200, 'PATCH', '', { deviceEvent: receiver.url });
      let key = (await settings(own)).authenticationKey;
      for (let i = 1; i <= 5; i++) {
        const old = key;
        key = (await own.call(201, 'POST', '/refresh_authkey')).body.authenticationKey;
        await own.call(201, 'PUT', `/devices/${own.devices[0]?.deviceId}/commands`, {
          launchType: 'service',
        });
        await waitFor('the callback', () => receiver.arrivals.length === i);
        const { headers, bytes: rawBody } = receiver.arrivals[i - 1] ?? {
          headers: {},
          bytes: Buffer.alloc(0),
        };
        expect(verifyCallback({ headers, rawBody }, [key])).toBe(true);
        expect(verifyCallback({ headers, rawBody }, [old])).toBe(false);
      }
    } finally {
      await receiver.close();
    }
  });

  it('a changed URL applies to the next callback', async () => {
    const own = await newTenant();
    await own.activate();
    const receivers = await Promise.all([startReceiver(() => 200), startReceiver(() => 200)]);
    try {
      for (const receiver of [...receivers, ...receivers]) {
        await own.call(200, 'PATCH', '', { deviceEvent: receiver.url });
        const before = receiver.arrivals.length;
        await own.call(201, 'PUT', `/devices/${own.devices[0]?.deviceId}/commands`, {
          launchType: 'service',
        });
        await waitFor('the callback', () => receiver.arrivals.length === before + 1);
      }
      expect(receivers.map((r) => r.arrivals.length)).toEqual([2, 2]);
    } finally {
      await Promise.all(receivers.map((r) => r.close()));
    }
  });

  describe('without an endpoint', () => {
    const deviceEventMissing = expect.stringContaining('deviceEvent is not set');
    const keyMissing = expect.stringContaining('no authenticationKey was issued');
    const calls = (of: Tenant) => {
      const on = `/devices/${of.devices[0]?.deviceId}`;
      return {
        activation: ['POST', on, { clientId: `app-${of.applicationId}` }],
        command: ['PUT', `${on}/commands`, { package: 'a', launchType: 'activity' }],
        deactivation: ['DELETE', on],
      } as const;
    };

    // proves api/8/404-destination
    it('without the key, deviceEvent or both, an activation is 404 and creates nothing', async () => {
      const own = await newTenant({ configure: false });
      const [method, path, body] = calls(own).activation;
      const refuse = async (...missing: unknown[]) => {
        const answer = await own.call(404, method, path, body);
        expect(Object.keys(answer.body)).toEqual(['message']);
        for (const m of missing) expect(answer.body.message).toEqual(m);
        expect(await own.transactions()).toEqual([]);
        expect((await own.call(200, 'GET', path)).body).toMatchObject({ activated: false });
      };
      await refuse(deviceEventMissing, keyMissing);
      await own.call(200, 'PATCH', '', { deviceEvent: own.integrator.url });
      await refuse(keyMissing);
      await own.call(200, 'PATCH', '', { deviceEvent: null, soraEvent: own.integrator.url });
      await own.call(201, 'POST', '/refresh_authkey');
      await refuse(deviceEventMissing);
      await own.call(200, 'PATCH', '', { deviceEvent: own.integrator.url });
      await own.call(201, method, path, body);
    });

    it.each(['activation', 'command', 'deactivation'] as const)(
      'deviceEvent removed after an activation: a %s is 404, creates nothing and changes nothing',
      async (name) => {
        const own = await newTenant();
        await own.activate();
        const before = await own.transactions();
        const [method, path, body] = calls(own)[name];
        await own.call(200, 'PATCH', '', { deviceEvent: null });
        const standing = (await own.call(200, 'GET', calls(own).activation[1])).body;
        expect((await own.call(404, method, path, body)).body.message).toEqual(deviceEventMissing);
        expect(await own.transactions()).toEqual(before);
        expect((await own.call(200, 'GET', calls(own).activation[1])).body).toEqual(standing);
        await own.call(200, 'PATCH', '', { deviceEvent: own.integrator.url });
        await own.call(201, method, path, body);
      },
    );

    it('a device that is not activated is reported before a missing endpoint', async () => {
      const own = await newTenant({ configure: false });
      for (const name of ['command', 'deactivation'] as const) {
        const [method, path, body] = calls(own)[name];
        expect((await own.call(403, method, path, body)).body).toEqual({
          message: 'The device is not activated.',
        });
      }
    });
  });
});
