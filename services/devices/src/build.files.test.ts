import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { callerOf, imei, openWorld, provision, type World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await openWorld();
  await provision(world, { limit: 2 });
  await world.applications.updateSettings({
    caller: callerOf('app'),
    set: { fileUploadGetUrl: 'https://example.com/url', fileUploadEvent: 'https://example.com/file' },
  });
  await activate('app');
});
afterEach(() => world.close());

const activate = (application: string) =>
  world.devices.activateDevice({ caller: callerOf(application), deviceId: imei(0), clientId: application });
const deactivate = (application: string) =>
  world.devices.deactivateDevice({ caller: callerOf(application), deviceId: imei(0) });
const path = `app/${imei(0)}/upload_files/photos/1.jpg`;
async function ask(
  given: { file?: string; size?: number; epoch?: number; deviceId?: string } = {},
): Promise<{ url: string; refusal: UrlRefusal }> {
  const { file = path, size = 1, epoch = 1, deviceId = imei(0) } = given;
  const upload = { file, sizeBytes: BigInt(size), activationEpoch: BigInt(epoch) };
  const { url, refusal } = await world.files.getUploadUrl({ deviceId, upload });
  return { url, refusal };
}
const refused = (refusal: UrlRefusal) => ({ url: '', refusal });
const answerUrl = (url: unknown) => {
  world.signedUrls.answer = Buffer.from(JSON.stringify({ url }));
};

test('the integrator is asked with device and path, and the headset gets its URL', async () => {
  expect(await ask()).toEqual({
    url: 'https://bucket.example/key?signature=1',
    refusal: UrlRefusal.UNSPECIFIED,
  });
  expect(world.signedUrls.asked).toEqual([
    { applicationId: 'app', setting: 'fileUploadGetUrl', body: { deviceId: imei(0), file: path } },
  ]);
});

test.each([
  [0, UrlRefusal.SIZE],
  [1, UrlRefusal.UNSPECIFIED],
  [1000, UrlRefusal.UNSPECIFIED],
  [1001, UrlRefusal.SIZE],
  [-1, UrlRefusal.SIZE],
])('with a limit of 1000 bytes a file of %i is rejected with %i', async (size, refusal) => {
  expect((await ask({ size })).refusal).toBe(refusal);
  expect(world.signedUrls.asked).toHaveLength(refusal === UrlRefusal.UNSPECIFIED ? 1 : 0);
});

test('without settings the limit is 20 MB', async () => {
  const { devicesConfig } = await import('./config.ts');
  expect(devicesConfig.FILE_UPLOAD_LIMIT_BYTES.default).toBe(20_971_520);
});

describe('not associated', () => {
  test.each([
    ['another application', `other/${imei(0)}/upload_files/a`],
    ['another device', `app/${imei(1)}/upload_files/a`],
    ['another folder', `app/${imei(0)}/files/a`],
    ['a path upwards', `app/${imei(0)}/upload_files/../../other/${imei(0)}/upload_files/a`],
  ])('a path that names %s', async (_, file) => {
    await provision(world, { name: 'other' });
    expect(await ask({ file })).toEqual(refused(UrlRefusal.NOT_ASSOCIATED));
    expect(world.signedUrls.asked).toEqual([]);
  });

  test('a device that no application has activated, and an unknown device', async () => {
    await deactivate('app');
    expect(await ask({ epoch: 2 })).toEqual(refused(UrlRefusal.NOT_ASSOCIATED));
    const deviceId = imei(77);
    expect(await ask({ deviceId, file: `app/${deviceId}/upload_files/a` })).toEqual(
      refused(UrlRefusal.NOT_ASSOCIATED),
    );
  });

  // protects against headsets/other-epoch
  test('a file of an earlier activation is rejected, even of the same application; a file from before a reset is accepted', async () => {
    await world.devices.resetDevice({ caller: callerOf('app'), deviceId: imei(0) });
    expect((await ask({ epoch: 1 })).refusal).toBe(UrlRefusal.UNSPECIFIED);
    await deactivate('app');
    await activate('app');
    expect(await ask({ epoch: 3 })).toEqual(refused(UrlRefusal.NOT_ASSOCIATED));
    expect((await ask({ epoch: 4 })).refusal).toBe(UrlRefusal.UNSPECIFIED);
  });
});

describe('no signed URL', () => {
  // proves cb/5/file-settings
  test.each(['fileUploadGetUrl', 'fileUploadEvent'])('while %s is not set', async (setting) => {
    await world.applications.updateSettings({ caller: callerOf('app'), remove: [setting] });
    expect(await ask()).toEqual(refused(UrlRefusal.NO_SIGNED_URL));
    expect(world.signedUrls.asked).toEqual([]);
  });

  test.each([
    ['no url', {}],
    ['a number', { url: 5 }],
    ['an empty text', { url: '' }],
    ['another scheme', { url: 'ftp://example.com/a' }],
    ['a script', { url: 'javascript:alert(1)' }],
    ['a path', { url: '/a' }],
    ['white space', { url: 'https://example.com/a b' }],
    ['8193 characters', { url: `https://example.com/${'x'.repeat(8193 - 20)}` }],
  ])('when the integrator answers %s', async (_, answer) => {
    world.signedUrls.answer = Buffer.from(JSON.stringify(answer));
    expect(await ask()).toEqual(refused(UrlRefusal.NO_SIGNED_URL));
  });

  test.each(['', 'null', '[]', '"https://example.com/"', '{', '\xff'])(
    'when the integrator answers the bytes %j',
    async (text) => {
      world.signedUrls.answer = Buffer.from(text, 'latin1');
      expect(await ask()).toEqual(refused(UrlRefusal.NO_SIGNED_URL));
    },
  );

  test.each([
    ['failed', new DomainError('integrator_failed', 'The signed URL could not be obtained.')],
    ['has no key', new DomainError('destination_not_set', 'The authentication key is not set.')],
  ])("when the integrator's endpoint %s", async (_, error) => {
    world.signedUrls.answer = error;
    expect(await ask()).toEqual(refused(UrlRefusal.NO_SIGNED_URL));
  });
});

test('a URL of 8192 characters is accepted, with http, too', async () => {
  const url = `http://example.com/${'x'.repeat(8192 - 19)}`;
  answerUrl(url);
  expect(await ask()).toEqual({ url, refusal: UrlRefusal.UNSPECIFIED });
});

test('requests are counted by their outcome', async () => {
  await ask();
  await ask({ size: 0 });
  await ask({ epoch: 0 });
  answerUrl('');
  await ask();
  world.signedUrls.answer = new DomainError('deadline_exceeded', 'A service took too long.');
  await ask().catch(() => undefined);
  const { values = [] } =
    (await world.metrics.getSingleMetric('headset_file_upload_urls_total')?.get()) ?? {};
  expect(Object.fromEntries(values.map((one) => [one.labels['outcome'], one.value]))).toEqual({
    ...{ given: 1, size: 1, not_associated: 1, no_signed_url: 1, unavailable: 1 },
  });
});

test.each([
  ['unavailable', new DomainError('unavailable', 'A service cannot be reached.', { retryAfterMs: 1000 })],
  ['deadline_exceeded', new DomainError('deadline_exceeded', 'A service took too long.')],
])('while the notifier itself is unavailable (%s) the headset is asked to retry', async (_, error) => {
  world.signedUrls.answer = error;
  await expect(ask()).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
});
