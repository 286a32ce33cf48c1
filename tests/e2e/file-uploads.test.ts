import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { generatedBytes } from '@headset-cloud/demo/headset/uploads.ts';
import { type FileStore, startFileStore } from '@headset-cloud/demo/integrator/file-store.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createTenant, describeOnStack, type Tenant } from './harness.ts';

const limitBytes = 20_971_520;
const messages = {
  size: 'The file size is over the limit.',
  empty: 'The signed URL could not be obtained because the file is empty.',
  notAssociated: 'The device is not associated with the application.',
  noUrl: 'The signed URL could not be obtained.',
  failed: 'The upload to the signed URL failed.',
} as const;

describeOnStack('files from headsets', () => {
  let tenant: Tenant;
  let store: FileStore;
  let headset: Headset;
  beforeAll(async () => {
    tenant = await createTenant({ devices: 1 });
    store = await startFileStore();
    store.keys.push(...tenant.integrator.keys);
    headset = tenant.headset();
    headset.connect();
    await tenant.ended(await tenant.activate());
  });
  beforeEach(async () => {
    store.answer = undefined;
    store.storeStatus = 200;
    await tenant.call(200, 'PATCH', '', {
      fileUploadGetUrl: store.signUrl,
      fileUploadEvent: `${tenant.integrator.origin}/files`,
    });
  });
  afterAll(async () => {
    await tenant.close();
    await store.close();
  });

  const callbackFor = (file: string) =>
    waitFor(`the callback for ${file}`, () =>
      tenant.integrator.received.find((r) => 'file' in r.body && r.body.file === file),
    );
  /** A path of the headset's own application. */
  const path = (name: string) => `${tenant.applicationId}/${headset.deviceId}/upload_files/${name}`;
  const upload = (file: string, sizeBytes = 10) => headset.upload({ file, sizeBytes });
  const end = (file: string, result: 'success' | 'failure', message: string) => ({
    applicationId: tenant.applicationId,
    deviceId: headset.deviceId,
    timestamp: expect.any(Number),
    result,
    file,
    message,
  });

  // proves cb/3/file-upload, cb/3/file-path, cb/5/file-single-part, cb/7/url-file
  it('a file reaches the URL that the integrator signed, and fileUploadEvent gets a callback', async () => {
    const file = path('photos/写真 1.jpg');
    upload(file, 1000);
    const callback = await callbackFor(file);
    expect(callback.body).toEqual(end(file, 'success', 'upload success.'));
    expect(Object.keys(callback.body)).toEqual([
      ...['applicationId', 'deviceId', 'timestamp', 'result', 'file', 'message'],
    ]);
    expect(callback).toMatchObject({ verified: true, path: '/files' });
    expect(store.files.get(file)?.equals(generatedBytes(1000))).toBe(true);
    const asked = store.requests.filter((r) => r.body.file === file);
    expect(asked.map(({ body, verified }) => ({ body, verified }))).toEqual([
      { body: { deviceId: headset.deviceId, file }, verified: true },
    ]);
    expect(asked[0]?.headers['applicationid']).toBe(tenant.applicationId);
    // Some servers compare header names case-sensitively (rule A22).
    expect(asked[0]?.headerNames).toEqual(
      expect.arrayContaining(['X-TLPF-NOTIFICATION-KEY', 'applicationId']),
    );
  });

  // proves cb/5/file-size, cb/9/file-size
  it.each([
    [1, undefined],
    [limitBytes, undefined],
    [0, messages.empty],
    [limitBytes + 1, messages.size],
  ])('a file of %i bytes is refused with %p', async (sizeBytes, refusal) => {
    const fits = refusal === undefined;
    const file = path(`size-${sizeBytes}`);
    upload(file, sizeBytes);
    const { body } = await callbackFor(file);
    expect(body).toEqual(fits ? end(file, 'success', 'upload success.') : end(file, 'failure', refusal));
    expect(store.files.get(file)?.length).toBe(fits ? sizeBytes : undefined);
    expect(store.requests.some((r) => r.body.file === file)).toBe(fits);
  });

  // proves cb/3/file-path
  // protects against headsets/other-file
  it('a path with .., and a path of another application or device, is rejected', async () => {
    const other = await createTenant();
    await other.call(200, 'PATCH', '', {
      fileUploadGetUrl: store.signUrl,
      fileUploadEvent: other.integrator.url,
    });
    for (const file of [
      `${other.applicationId}/${headset.deviceId}/upload_files/a`,
      `${tenant.applicationId}/${other.devices[0]?.deviceId}/upload_files/a`,
      path(`../../../${other.applicationId}/${headset.deviceId}/upload_files/a`),
      path(''),
      path('a//b'),
      path('a\\b'),
      'a',
    ]) {
      upload(file);
      expect((await callbackFor(file)).body).toEqual(end(file, 'failure', messages.notAssociated));
      expect(store.requests.some((r) => r.body.file === file)).toBe(false);
    }
    expect(other.integrator.received).toEqual([]);
    await other.close();
  });

  // proves cb/5/file-settings
  it('without fileUploadGetUrl there is no upload URL', async () => {
    await tenant.call(200, 'PATCH', '', { fileUploadGetUrl: null });
    const file = path('unset');
    upload(file);
    expect((await callbackFor(file)).body).toEqual(end(file, 'failure', messages.noUrl));
  });

  // protects against callbacks/signed-url-answer
  it.each<[string, FileStore['answer']]>([
    ['400', (response) => response.writeHead(400).end()],
    ['500', (response) => response.writeHead(500).end()],
    ['a redirect', (response) => response.writeHead(302, { location: store.signUrl }).end()],
    ['no JSON', (response) => response.writeHead(200).end('hello')],
    ['no url', (response) => response.writeHead(200).end('{}')],
    ['an invalid url', (response) => response.writeHead(200).end('{"url":"ftp://a"}')],
    ['a huge answer', (response) => response.writeHead(200).end(`{"url":"${'x'.repeat(3_000_000)}"}`)],
    ['a closed connection', (response) => response.destroy()],
  ])('an integrator that answers %s gave no signed URL', async (name, answer) => {
    store.answer = answer;
    const file = path(`answer ${name}`);
    upload(file);
    expect((await callbackFor(file)).body).toEqual(end(file, 'failure', messages.noUrl));
  });

  // Rule A22.
  it('the scheme of a signed URL may be in capitals', async () => {
    const file = path('capitals');
    const url = `${store.signUrl.replace('http:', 'HTTP:').replace('/sign', '/files')}?file=${encodeURIComponent(file)}`;
    store.answer = (response) => response.writeHead(200).end(JSON.stringify({ url }));
    upload(file);
    expect((await callbackFor(file)).body).toEqual(end(file, 'success', 'upload success.'));
    expect(store.files.has(file)).toBe(true);
  });

  // proves cb/8/file-reasons
  it('a store that rejects the file fails the upload', async () => {
    store.storeStatus = 403;
    const file = path('refused');
    upload(file);
    expect((await callbackFor(file)).body).toEqual(end(file, 'failure', messages.failed));
    expect(store.files.has(file)).toBe(false);
  });
});
