import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiAnswer } from '@headset-cloud/demo/api.ts';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import type { Headset } from '@headset-cloud/demo/headset/headset.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { hostilePackages } from '@headset-cloud/updates/testing/hostile-packages.ts';
import { request } from 'undici';
import { ctl, ctlJson } from './ctl.ts';
import { createTenant, describeOnStack, imei, stack, type Tenant } from './harness.ts';
import { laptopOf } from './hc.ts';

const apkType = 'application/vnd.android.package-archive';

/** One PUT, as an integrator makes it. */
async function put(url: string, body: Buffer, contentType = apkType): Promise<number> {
  const answer = await request(url, { method: 'PUT', body, headers: { 'content-type': contentType } });
  await answer.body.dump();
  return answer.statusCode;
}

/** The reason in the answer to a rejected body. */
const detailOf = ({ headers }: Pick<ApiAnswer, 'headers'>) => String(headers['x-error-detail']);
const invalidBody = { message: 'Invalid request body' };

/** Package names are the platform's: each test has its own. */
const newPackage = () => `com.example.p${randomBytes(6).toString('hex')}`;

describeOnStack('software and firmware', () => {
  let tenant: Tenant;
  let headset: Headset;
  let deviceId: string;
  beforeAll(async () => {
    tenant = await createTenant();
    deviceId = tenant.devices[0]?.deviceId ?? '';
    headset = tenant.headset(undefined, { behaviour: { progressIntervalMs: 100, downloadRetryMs: 50 } });
    headset.connect();
    await tenant.ended(await tenant.activate());
  });
  afterAll(() => tenant.close());
  afterEach(() =>
    Object.assign(headset.behaviour, {
      downloadBytesPerSecond: 0,
      cutDownloadAtBytes: 0,
      corruptDownloads: 0,
      succeeds: true,
    }),
  );

  const requestUpload = async (name: string, version: string, fileSize: number, by = tenant) =>
    (await by.call(201, 'POST', '/apps', { package: name, version, fileSize })).body;

  async function upload(name: string, version: string, content?: Buffer, by = tenant): Promise<Buffer> {
    const apk = content ?? (await makeApk({ package: name, versionName: version }));
    const { urlList } = await requestUpload(name, version, apk.length, by);
    expect(await put(urlList[0].uploadUrl, apk)).toBe(200);
    return apk;
  }

  const list = async (query: string, by = tenant) => (await by.call(200, 'GET', `/apps${query}`)).body;

  const listedOnce = (name: string, versions: string[]) =>
    waitFor(`${name} to be deliverable`, async () => {
      const { appVersions } = await list(`?package=${name}`);
      return appVersions.length === versions.length && appVersions;
    });

  const update = async (name: string, version: string): Promise<number> =>
    (await tenant.call(201, 'PUT', `/devices/${deviceId}/apps`, { package: name, version })).body
      .transactionId;

  // proves api/3/app-install, api/3/upload-request, api/3/upload-result, api/3/upload-urls, api/7/upload-app
  // proves api/7/update-app, api/5/upload-no-multipart, api/9/chunk-part-size, api/9/url-lifetime, cb/3/update
  // proves api/5/upload-content-type
  it('a package is uploaded, checked, listed and installed on the headset, with progress', async () => {
    const name = newPackage();
    const before = Date.now();
    const apk = await makeApk({
      package: name,
      versionName: '1.2.0',
      entries: { 'a.bin': randomBytes(300_000) },
    });
    const answer = await requestUpload(name, '1.2.0', apk.length);
    const [url] = answer.urlList;
    expect(answer).toEqual({
      appFileExists: false,
      chunkPartSize: 10_485_760,
      uploadId: null,
      urlList: [
        {
          uploadUrl: expect.stringMatching(/^http:\/\//),
          startTimestamp: expect.any(Number),
          endTimestamp: url.startTimestamp + 3_600_000,
          expireIn: 3600,
        },
      ],
    });
    expect(url.startTimestamp).toBeGreaterThanOrEqual(before - 1000);
    expect(url.startTimestamp).toBeLessThanOrEqual(Date.now());
    expect((await list(`?package=${name}`)).appVersions).toEqual([]);
    expect(await put(url.uploadUrl, apk)).toBe(200);
    expect(await listedOnce(name, ['1.2.0'])).toEqual([{ package: name, version: '1.2.0' }]);
    expect(await requestUpload(name, '1.2.0', apk.length)).toEqual({
      ...{ appFileExists: true, chunkPartSize: 10_485_760, uploadId: null, urlList: [] },
    });

    headset.behaviour.downloadBytesPerSecond = 600_000;
    const id = await update(name, '1.2.0');
    const end = await tenant.ended(id);
    const common = {
      ...{ applicationId: tenant.applicationId, deviceId, transactionId: id },
      operationId: 'put-v1-applications-devices-apps',
      timestamp: expect.any(Number),
      message: expect.any(String),
      result: 'success',
    };
    expect(end).toEqual({ ...common, notificationType: 'processed', progress: 1 });
    const bodies = tenant.callbacks(id).map((c) => c.body);
    expect(bodies[0]).toEqual({ ...common, notificationType: 'accepted', progress: 0 });
    const steps = bodies.slice(1, -1);
    expect(steps.length).toBeGreaterThan(0);
    for (const step of steps) {
      expect(step).toEqual({ ...common, notificationType: 'in_progress', progress: expect.any(Number) });
      expect(step.progress).toBeGreaterThanOrEqual(0);
      expect(step.progress).toBeLessThanOrEqual(1);
    }
    expect(headset.device.state.apps).toContainEqual({ package: name, version: '1.2.0' });
    const { apps } = await waitFor('the status', async () => {
      const { body } = await tenant.call(200, 'GET', `/devices/${deviceId}/status`);
      return body.apps?.some((a: { package: string }) => a.package === name) && body;
    });
    expect(apps).toContainEqual({ package: name, version: '1.2.0' });
  });

  it('an interrupted download resumes, with a new URL if the old one has expired', async () => {
    const name = newPackage();
    await upload(
      name,
      '1',
      await makeApk({ package: name, versionName: '1', entries: { 'a.bin': randomBytes(2_000_000) } }),
    );
    await listedOnce(name, ['1']);
    const received: number[] = [];
    const count = (message: { body: { case?: string | undefined } }) => {
      if (message.body.case === 'urlAnswer') received.push(Date.now());
    };
    headset.on('received', count);
    // URLs are valid for 3 s in this suite.
    Object.assign(headset.behaviour, { cutDownloadAtBytes: 1_000_000, downloadRetryMs: 3500 });
    const end = await tenant.ended(await update(name, '1'));
    Object.assign(headset.behaviour, { downloadRetryMs: 50 });
    headset.off('received', count);
    expect(end).toMatchObject({ result: 'success', progress: 1 });
    expect(received).toHaveLength(2);
  });

  it('a download with changed bytes is not installed, but repeated', async () => {
    const name = newPackage();
    await upload(name, '1');
    await listedOnce(name, ['1']);
    headset.behaviour.corruptDownloads = 1;
    expect(await tenant.ended(await update(name, '1'))).toMatchObject({ result: 'success' });
    headset.behaviour.corruptDownloads = 3;
    expect(await tenant.ended(await update(name, '1'))).toMatchObject({ result: 'failure' });
  });

  // proves api/3/software-list, api/7/list-apps, api/9/software-page
  it('the list: own packages by name, newest first, with latest, offset and limit', async () => {
    const other = await createTenant({ configure: false });
    const [a, b] = [newPackage(), newPackage()].toSorted() as [string, string];
    for (const version of ['1.9', '1.10', '1.2']) await upload(a, version, undefined, other);
    await upload(b, '2', undefined, other);
    const all = [
      { package: a, version: '1.10' },
      { package: a, version: '1.9' },
      { package: a, version: '1.2' },
      { package: b, version: '2' },
    ];
    await waitFor('all to be listed', async () => (await list('', other)).totalCount === 4);
    expect(await list('', other)).toEqual({ appVersions: all, totalCount: 4, offset: 0, limit: 100 });
    expect(await list('?offset=1&limit=2', other)).toEqual({
      ...{ appVersions: all.slice(1, 3), totalCount: 4, offset: 1, limit: 2 },
    });
    expect(await list('?mode=latest', other)).toEqual({
      ...{ appVersions: [all[0], all[3]], totalCount: 2, offset: 0, limit: 100 },
    });
    expect(await list(`?mode=latest&package=${a}`, other)).toEqual({
      ...{ appVersions: [all[0]], totalCount: 1, offset: 0, limit: 100 },
    });
    expect((await list(`?package=${a}`)).appVersions).toEqual([]);
    await other.close();
  });

  // proves api/5/upload-content-type
  // protects against files/url-size
  it('the URL accepts only the declared type and size', async () => {
    const name = newPackage();
    const apk = await makeApk({ package: name, versionName: '1' });
    const [{ uploadUrl }] = (await requestUpload(name, '1', apk.length)).urlList;
    expect(await put(uploadUrl, apk, 'application/octet-stream')).toBe(403);
    expect(await put(uploadUrl, apk.subarray(1))).toBe(403);
    // Not the last character, because some of its bits may be unused.
    const other = uploadUrl.replace(/.(?=.{3}$)/, (c: string) => (c === 'a' ? 'b' : 'a'));
    expect(await put(other, apk)).toBe(403);
    expect(await put(uploadUrl, apk)).toBe(200);
    await listedOnce(name, ['1']);
  });

  it('a URL accepts no more files after its file was accepted', async () => {
    const name = newPackage();
    const apk = await makeApk({ package: name, versionName: '1' });
    const [{ uploadUrl }] = (await requestUpload(name, '1', apk.length)).urlList;
    expect(await put(uploadUrl, apk)).toBe(200);
    await listedOnce(name, ['1']);
    const { artifacts } = await ctlJson('artifacts', 'list', '--package', name);
    // S3 cannot reject a signed URL before it expires; the platform discards the file.
    for (const content of [apk, Buffer.from(apk).fill(1)])
      expect(await put(uploadUrl, content)).toBe(stack.kind === 'embedded' ? 409 : 200);
    expect((await ctlJson('artifacts', 'list', '--package', name)).artifacts).toEqual(artifacts);
  });

  it.each<[string, Parameters<typeof makeApk>[0], string]>([
    ['without a signature', { signed: false }, 'It is not signed: it has neither a v1 signature'],
    [
      'that is a split',
      { splits: { split: 'config.xxhdpi' } },
      'It is the split config.xxhdpi of a package.',
    ],
    ['that requires splits', { splits: { isSplitRequired: true } }, 'Its manifest requires splits'],
    [
      'that requires types of splits',
      { splits: { requiredSplitTypes: 'base__abi' } },
      'Its manifest requires',
    ],
    ['with only a manifest', { entries: {} }, 'It contains only AndroidManifest.xml.'],
  ])(
    'a package %s is rejected with the reason, and its version stays available',
    async (_, options, reason) => {
      const name = newPackage();
      const apk = await makeApk({ ...options, package: name, versionName: '1' });
      const [{ uploadUrl }] = (await requestUpload(name, '1', apk.length)).urlList;
      expect(await put(uploadUrl, apk)).toBe(stack.kind === 'embedded' ? 422 : 200);
      await waitFor('the reason', async () => {
        const refused = await tenant.call(400, 'PUT', `/devices/${deviceId}/apps`, {
          package: name,
          version: '1',
        });
        return detailOf(refused).includes(reason);
      });
      await upload(name, '1');
      await listedOnce(name, ['1']);
    },
  );

  // proves ext/software/withdraw
  it('a version without sent updates can be withdrawn and uploaded again; after an update it cannot be withdrawn', async () => {
    const name = newPackage();
    const withdraw = (status: number, by = tenant) =>
      by.call(status, 'POST', '/apps/withdraw', { package: name, version: '1' });
    expect((await withdraw(404)).body).toEqual({ message: `1 of ${name} is not in the catalogue.` });
    const first = await makeApk({ package: name, versionName: '1' });
    const [{ uploadUrl }] = (await requestUpload(name, '1', first.length)).urlList;
    expect(await put(uploadUrl, first)).toBe(200);
    await listedOnce(name, ['1']);
    expect((await withdraw(200)).body).toEqual({ package: name, version: '1' });
    expect((await withdraw(200)).body).toEqual({ package: name, version: '1' });
    expect((await list(`?package=${name}`)).appVersions).toEqual([]);
    const refused = await tenant.call(400, 'PUT', `/devices/${deviceId}/apps`, {
      package: name,
      version: '1',
    });
    expect(detailOf(refused)).toBe(
      `/version 1 of ${name} cannot be delivered: Its developer has withdrawn it.`,
    );
    const second = await makeApk({ package: name, versionName: '1', entries: { 'b.dex': randomBytes(99) } });
    const next = await requestUpload(name, '1', second.length);
    // The former URL has no effect.
    expect(await put(uploadUrl, first)).toBe(stack.kind === 'embedded' ? 409 : 200);
    expect(await put(next.urlList[0].uploadUrl, second)).toBe(200);
    await listedOnce(name, ['1']);
    const { artifacts } = await ctlJson('artifacts', 'list', '--package', name);
    expect(artifacts[0].sha256).toBe(createHash('sha256').update(second).digest('hex'));
    expect((await tenant.ended(await update(name, '1'))).result).toBe('success');
    expect((await withdraw(409)).body).toEqual({
      message: `1 of ${name} cannot be withdrawn: an update may have been sent with it.`,
    });
  });

  it('hc withdraws a version, or prints why it cannot', async () => {
    const name = newPackage();
    await upload(name, '1');
    await listedOnce(name, ['1']);
    const laptop = laptopOf(tenant);
    expect(await laptop.json('software', 'withdraw', name, '1')).toEqual({ package: name, version: '1' });
    // The record reaches the audit store through the log.
    await waitFor('the record', async () => {
      const words = ['--application', tenant.applicationId, '--action', 'WithdrawApp'];
      const { records } = await ctlJson('audit', 'list', ...words);
      return records.some(({ target }: { target: string }) => target === `software/${name}/1`);
    });
    const refused = await laptop.run(['software', 'withdraw', name, '2']);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining(`2 of ${name} is not in the catalogue.`),
    ]);
  });

  it('a package with other content than declared is never delivered; developer and operator can read the reason', async () => {
    const name = newPackage();
    const apk = await makeApk({ package: name, versionName: '1.0.1' });
    const [{ uploadUrl }] = (await requestUpload(name, '1.0.0', apk.length)).urlList;
    expect(await put(uploadUrl, apk)).toBe(stack.kind === 'embedded' ? 422 : 200);
    const reason = "Its manifest's version is 1.0.1, not 1.0.0 as was requested.";
    const expected = `/version 1.0.0 of ${name} cannot be delivered: ${reason}`;
    const refusal = await waitFor('the reason', async () => {
      const refused = await tenant.call(400, 'PUT', `/devices/${deviceId}/apps`, {
        package: name,
        version: '1.0.0',
      });
      return detailOf(refused).includes('manifest') && refused;
    });
    expect(refusal.body).toEqual(invalidBody);
    expect(detailOf(refusal)).toBe(expected);
    expect((await list(`?package=${name}`)).appVersions).toEqual([]);
    const { artifacts } = await ctlJson('artifacts', 'list', '--package', name);
    expect(artifacts).toEqual([
      {
        ...{
          kind: 'ARTIFACT_KIND_SOFTWARE',
          package: name,
          version: '1.0.0',
          state: 'ARTIFACT_STATE_REJECTED',
        },
        ...{ reason, sizeBytes: String(apk.length), sha256: '', developerId: `developer-${tenant.clientId}` },
        updatedAtMs: expect.stringMatching(/^\d{13}$/),
      },
    ]);
    expect((await ctl('artifacts', 'list', '--package', name)).out).toContain(`rejected  ${apk.length}`);
    // The declared package is accepted afterwards.
    await upload(name, '1.0.0');
    await listedOnce(name, ['1.0.0']);
  });

  // protects against files/bomb, files/archive-tricks
  it.each(['a bomb', 'a record of zip64 at 2^64', 'a symbolic link'])(
    '%s is rejected with its reason, and the platform continues',
    async (what) => {
      const name = newPackage();
      const version = '1';
      const hostile = hostilePackages({ package: name, version }).find((one) => one.what === what);
      const content = hostile?.make() ?? Buffer.alloc(0);
      const [{ uploadUrl }] = (await requestUpload(name, version, content.length)).urlList;
      expect(await put(uploadUrl, content)).toBe(stack.kind === 'embedded' ? 422 : 200);
      const begin = `/version 1 of ${name} cannot be delivered: `;
      const reason = await waitFor('the reason', async () => {
        const refused = await tenant.call(400, 'PUT', `/devices/${deviceId}/apps`, {
          package: name,
          version,
        });
        const detail = detailOf(refused);
        return !detail.includes('not complete') && detail.replace(begin, '');
      });
      expect(reason).toMatch(hostile?.reason ?? /^$/);
      await upload(name, version);
      await listedOnce(name, [version]);
    },
  );

  // proves api/5/upload-prefix, api/5/upload-size
  it.each<[string, object, string]>([
    [
      'the reserved prefix',
      { package: 'com.vendor.app', version: '1', fileSize: 1 },
      '/package must not start with com.vendor., which is reserved.',
    ],
    [
      'the reserved prefix alone',
      { package: 'com.vendor', version: '1', fileSize: 1 },
      '/package must not start with com.vendor., which is reserved.',
    ],
    [
      'a size above the limit',
      { package: 'com.example.app', version: '1', fileSize: 1_073_741_825 },
      '/fileSize must be from 1 to 1073741824 bytes.',
    ],
  ])('%s is refused with 400, and leaves nothing behind', async (_, body, detail) => {
    const refused = await tenant.call(400, 'POST', '/apps', body);
    expect([refused.body, detailOf(refused)]).toEqual([invalidBody, detail]);
    const { artifacts } = await ctlJson('artifacts', 'list', '--package', 'com.example.app');
    expect(artifacts).toEqual([]);
  });

  // proves api/5/upload-other-developer
  // protects against rest/other-package
  it('a package of another developer is rejected for upload, update and list; of two concurrent developers one gets it', async () => {
    const other = await createTenant({ configure: false });
    const name = newPackage();
    const ask = (by: Tenant) => by.api.app('POST', '/apps', { package: name, version: '1', fileSize: 1 });
    const answers = await Promise.all([ask(tenant), ask(other)]);
    expect(answers.map((a) => a.status).toSorted()).toEqual([201, 400]);
    const loser = answers.find((a) => a.status === 400);
    expect([loser?.body, loser && detailOf(loser)]).toEqual([
      ...[invalidBody, `/package ${name} is used by another developer.`],
    ]);
    const theirs = newPackage();
    await upload(theirs, '1', undefined, other);
    const refused = await tenant.call(400, 'PUT', `/devices/${deviceId}/apps`, {
      package: theirs,
      version: '1',
    });
    expect(detailOf(refused)).toBe(`/version 1 of ${theirs} is not in the catalogue.`);
    await other.close();
  });

  // protects against rest/other-package
  it('a package is free after its only file was rejected; the next developer with an accepted file owns it', async () => {
    const other = await createTenant({ configure: false });
    const name = newPackage();
    const apk = await makeApk({ package: name, versionName: '1' });
    const first = await requestUpload(name, '1', apk.length);
    const ask = () => other.api.app('POST', '/apps', { package: name, version: '1', fileSize: apk.length });
    expect((await ask()).status).toBe(400);
    await put(first.urlList[0].uploadUrl, Buffer.from(apk).fill(1));
    const { body } = await waitFor('the name to be free', async () => {
      const answer = await ask();
      return answer.status === 201 && answer;
    });
    expect(await put(body.urlList[0].uploadUrl, apk)).toBe(200);
    await waitFor('it to be listed', async () => (await list('', other)).totalCount === 1);
    // The URL of the rejected file is still valid.
    await put(first.urlList[0].uploadUrl, apk);
    const refused = await tenant.call(400, 'POST', '/apps', { package: name, version: '2', fileSize: 1 });
    expect(detailOf(refused)).toBe(`/package ${name} is used by another developer.`);
    expect((await list(`?package=${name}`)).totalCount).toBe(0);
    await other.close();
  });

  it('a repeat under an Idempotency-Key returns a newly signed URL; another body is 422', async () => {
    const name = newPackage();
    const apk = await makeApk({ package: name, versionName: '1' });
    const key = { 'idempotency-key': randomBytes(8).toString('hex') };
    const body = { package: name, version: '1', fileSize: apk.length };
    const first = (await tenant.call(201, 'POST', '/apps', body, key)).body;
    // Signatures of S3 count in seconds.
    const second = await waitFor('another second', async () => {
      const again = (await tenant.call(201, 'POST', '/apps', body, key)).body;
      return again.urlList[0].startTimestamp > first.urlList[0].startTimestamp && again;
    });
    expect(second.urlList[0].uploadUrl).not.toBe(first.urlList[0].uploadUrl);
    expect((await tenant.call(422, 'POST', '/apps', { ...body, fileSize: 1 }, key)).status).toBe(422);
    expect(await put(second.urlList[0].uploadUrl, apk)).toBe(200);
    await listedOnce(name, ['1']);
    const updateKey = { 'idempotency-key': randomBytes(8).toString('hex') };
    const send = async () =>
      (await tenant.call(201, 'PUT', `/devices/${deviceId}/apps`, { package: name, version: '1' }, updateKey))
        .body;
    expect(await send()).toEqual(await send());
  });

  // proves api/4/latest-updates
  it('of updates that wait for the headset only the latest of a package and version runs', async () => {
    const [one, other] = [newPackage(), newPackage()];
    for (const [name, version] of [
      [one, '1'],
      [one, '2'],
      [other, '1'],
    ] as const) {
      await upload(name, version);
      await waitFor('it to be listed', async () =>
        (await list(`?package=${name}`)).appVersions.some((v: { version: string }) => v.version === version),
      );
    }
    headset.stayAway(60_000);
    await waitFor('the headset to be away', () => headset.sessionEpoch === 0);
    const canceled = await update(one, '1');
    const made = [await update(one, '1'), await update(one, '2'), await update(other, '1')];
    headset.stayAway(0);
    for (const id of made) expect(await tenant.ended(id)).toMatchObject({ result: 'success', progress: 1 });
    const end = await tenant.ended(canceled);
    expect(end).toMatchObject({ notificationType: 'processed', result: 'failure' });
    expect(end).not.toHaveProperty('progress');
    expect(await tenant.status(canceled)).toBe('canceled');
  });

  // proves api/6/deactivated, api/8/403-not-activated
  it('the order of checks: catalogue 400, activation 403, destination 404', async () => {
    const bare = await createTenant({ configure: false });
    const device = bare.devices[0]?.deviceId;
    const name = newPackage();
    await upload(name, '1', undefined, bare);
    await waitFor('it to be listed', async () => (await list('', bare)).totalCount === 1);
    const install = (status: number, version: string) =>
      bare.call(status, 'PUT', `/devices/${device}/apps`, { package: name, version });
    expect(detailOf(await install(400, '2'))).toBe(`/version 2 of ${name} is not in the catalogue.`);
    expect((await install(403, '1')).body).toEqual({ message: 'The device is not activated.' });
    await bare.call(200, 'PATCH', '', { deviceEvent: bare.integrator.url });
    await bare.call(201, 'POST', '/refresh_authkey');
    await bare.activate();
    await bare.call(200, 'PATCH', '', { deviceEvent: null });
    expect((await install(404, '1')).status).toBe(404);
    expect((await install(400, '2')).status).toBe(400);
    await bare.call(200, 'PATCH', '', { deviceEvent: bare.integrator.url });
    await install(201, '1');
    await bare.close();
  });

  describe('firmware', () => {
    const unique = randomBytes(4).readUInt32LE();
    const version = (n: number) => `9.${unique}.${n}`;
    const file = () => join(stack.dataDir, `firmware-${unique}.bin`);
    const putFirmware = async (v: string): Promise<Buffer> => {
      const content = randomBytes(100_000);
      writeFileSync(file(), content);
      const run = await ctl('firmware', 'put', 'com.vendor.firmware', v, file());
      expect([run.exitCode, run.err]).toEqual([0, '']);
      expect(run.out).toMatch(/^state +deliverable$/m);
      expect(run.out).toContain(createHash('sha256').update(content).digest('hex'));
      return content;
    };
    const install = (status: number, v: string) =>
      tenant.call(status, 'PUT', `/devices/${deviceId}/firmware`, { version: v });

    // proves api/3/firmware-update, api/3/firmware-list, api/7/update-firmware, api/7/list-firmware
    // proves api/5/firmware-downgrade, api/8/400-downgrade
    it('is stored by operators, listed and installed, and never downgraded', async () => {
      for (const n of [2, 10, 1]) await putFirmware(version(n));
      const { firmwareVersions } = (await tenant.call(200, 'GET', '/firmware')).body;
      const own = firmwareVersions.filter((f: { version: string }) => f.version.includes(`.${unique}.`));
      expect(own).toEqual([10, 2, 1].map((n) => ({ package: 'com.vendor.firmware', version: version(n) })));

      const { transactionId } = (await install(201, version(2))).body;
      expect(await tenant.ended(transactionId)).toEqual({
        ...{ applicationId: tenant.applicationId, deviceId, transactionId },
        operationId: 'put-v1-applications-devices-firmware',
        ...{ notificationType: 'processed', result: 'success', progress: 1 },
        timestamp: expect.any(Number),
        message: expect.any(String),
      });
      await waitFor('the status', async () => {
        const { body } = await tenant.call(200, 'GET', `/devices/${deviceId}/status`);
        return body.firmware?.version === version(2);
      });
      expect((await install(400, version(1))).body).toEqual({
        message: `The firmware version ${version(1)} is older than ${version(2)}, which the device has.`,
      });
      // The installed version again is no downgrade.
      await tenant.ended((await install(201, version(2))).body.transactionId);
      await tenant.ended((await install(201, version(10))).body.transactionId);
    });

    it('a downgrade after a waiting update of an offline headset is rejected, and stores nothing', async () => {
      for (const n of [51, 52]) await putFirmware(version(n));
      const offline = await createTenant({ sameDeveloperAs: tenant });
      await offline.activate();
      const ask = (status: number, n: number) =>
        offline.call(status, 'PUT', `/devices/${offline.devices[0]?.deviceId}/firmware`, {
          version: version(n),
        });
      await ask(201, 52);
      expect((await ask(400, 51)).body).toEqual({
        message: `The firmware version ${version(51)} is older than ${version(52)}, to which an unprocessed update of the device leads.`,
      });
      expect(await offline.transactions()).toHaveLength(2);
      await ask(201, 52);
      await offline.close();
    });

    it('that was withdrawn is neither listed nor installed', async () => {
      await putFirmware(version(20));
      const run = await ctl('firmware', 'withdraw', 'com.vendor.firmware', version(20));
      expect([run.exitCode, run.err]).toEqual([0, '']);
      expect((await ctl('firmware', 'list')).out).toMatch(new RegExp(`${version(20)} +withdrawn`));
      expect(JSON.stringify((await tenant.call(200, 'GET', '/firmware')).body)).not.toContain(version(20));
      expect(detailOf(await install(400, version(20)))).toBe(
        `/version ${version(20)} of the firmware is not in the catalogue.`,
      );
    });

    // proves api/6/deactivated, api/8/403-not-activated
    it('for a device that is not activated is 403, an unknown version 400', async () => {
      await putFirmware(version(30));
      const path = `/devices/${imei()}/firmware`;
      await tenant.call(403, 'PUT', path, { version: version(30) });
      await tenant.call(400, 'PUT', path, { version: version(31) });
    });

    it('an empty file is rejected with exit code 1', async () => {
      writeFileSync(file(), '');
      const run = await ctl('firmware', 'put', 'com.vendor.firmware', version(40), file());
      expect([run.exitCode, run.out]).toEqual([1, '']);
      expect(run.err).toMatch(/fileSize must be from 1/);
    });
  });
});
