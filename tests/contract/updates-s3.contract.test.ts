import { close, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { createBucket } from '@headset-cloud/demo/stack/bucket.ts';
import { type RunningS3, startS3, whyNoS3 } from '@headset-cloud/demo/stack/s3.ts';
import { ArtifactState } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createS3Storage } from '@headset-cloud/updates/storage/s3.ts';
import { callerOf, World } from '@headset-cloud/updates/testing/world.ts';
import { pino } from 'pino';
import { request } from 'undici';
import { describeUnless } from '../support/skip.ts';

/** The updates service on S3, which sends no notification when an upload has arrived. */
const missing = process.env['S3_ENDPOINT'] ? 'a server that can be killed is not S3_ENDPOINT’s' : whyNoS3();
describeUnless(missing, 'updates on S3', () => {
  let directory: string;
  let server: RunningS3;
  let world: World;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'updates-s3-'));
    server = await startS3(directory);
    Object.assign(process.env, server.environment);
    const temp = { UPDATES_TEMP_DIR: join(directory, 'temp') };
    world = await new World({ ...server.environment, ...temp }, { ownProcesses: true }).start();
  });
  afterAll(async () => {
    await world?.close();
    await server?.stop();
    for (const key of Object.keys(server?.environment ?? {})) delete process.env[key];
    rmSync(directory, { recursive: true, force: true });
  });
  beforeEach(() => {
    world.nowMs = Date.now();
  });

  const app = 'com.example.app';
  const ask = (version: string, sizeBytes: number) =>
    world.updates.requestUpload({ caller: callerOf(), package: app, version, sizeBytes: BigInt(sizeBytes) });
  async function upload(version: string, apk: Buffer): Promise<void> {
    const { urls } = await ask(version, apk.length);
    const headers = { 'content-type': 'application/vnd.android.package-archive' };
    const answer = await request(urls[0]?.uploadUrl ?? '', { method: 'PUT', body: apk, headers });
    await answer.body.dump();
    expect(answer.statusCode).toBe(200);
  }
  const state = async (version: string) => {
    const found = await world.bed.store
      .collection<{ _id: string; state: string; reason: string }>('artifacts')
      .findOne({ _id: `software/${app}/${version}` });
    return found?.state;
  };

  it('the sweeper finds an upload without a call', async () => {
    await upload('1', await makeApk({ versionName: '1' }));
    await waitFor('the sweep', async () => {
      world.nowMs += 100;
      return (await state('1')) === 'deliverable';
    });
  });

  it('a list call finds an upload before the sweeper runs', async () => {
    await upload('2', await makeApk({ versionName: '2' }));
    // The service's clock does not advance. A list waits only briefly for a check; a later list shows its result.
    await waitFor('the version', async () => {
      const { appVersions } = await world.updates.listApps({ caller: callerOf(), package: app });
      return appVersions.some((v) => v.version === '2');
    });
  });

  it('an incomplete package is rejected by list and sweeper, and the same URL accepts another upload', async () => {
    const apk = await makeApk({ versionName: '3' });
    const { urls } = await ask('3', apk.length);
    const put = async (body: Buffer) => {
      const headers = { 'content-type': 'application/vnd.android.package-archive' };
      const answer = await request(urls[0]?.uploadUrl ?? '', { method: 'PUT', body, headers });
      await answer.body.dump();
    };
    const look = async () => {
      const { artifacts } = await world.admin.listArtifacts({ package: app });
      return artifacts.find((a) => a.version === '3');
    };
    await put(Buffer.alloc(apk.length));
    const checked = await waitFor('the check', async () => {
      const found = await look();
      return found?.state !== ArtifactState.UPLOADING && found;
    });
    expect(checked).toMatchObject({
      state: ArtifactState.REJECTED,
      reason: expect.stringMatching(/^It is not a whole Android package: /),
    });
    await put(apk);
    await waitFor('the sweep', async () => {
      world.nowMs += 100;
      return (await state('3')) === 'deliverable';
    });
    expect((await look())?.reason).toBe('');
  });

  it('while S3 is unavailable uploads fail and leave nothing behind; lists and updates continue', async () => {
    await upload('4', await makeApk({ versionName: '4' }));
    const count = async () =>
      Promise.all(
        ['packages', 'artifacts', 'uploads'].map((c) => world.bed.store.collection(c).countDocuments()),
      );
    const before = await count();
    await server.kill();
    await expect(ask('5', 10)).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 5000 });
    expect(await count()).toEqual(before);
    const { appVersions } = await world.updates.listApps({ caller: callerOf() });
    expect(appVersions.map((v) => v.version)).toEqual(['3', '2', '1']);
    const call = { caller: callerOf(), deviceId: '350000000000018', package: app, version: '1' };
    expect((await world.updates.updateApp(call)).transactionId).toBe(1n);
    // An earlier upload is found afterwards.
    await server.restart();
    await waitFor('the sweep', async () => {
      world.nowMs += 1000;
      return (await state('4')) === 'deliverable';
    });
    world.nowMs = Date.now();
    expect((await ask('5', 10)).urls).toHaveLength(1);
  });

  it('a bucket that is missing or unavailable is named in the log and the metric, also if this happens later', async () => {
    const lines: { level: number; msg: string }[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    const other = new World(
      { ...server.environment, S3_BUCKET: 'no-such-bucket', UPDATES_STORAGE_WATCH_MS: '100' },
      { logger },
    );
    const gauge = async (of: World) =>
      (await of.metrics.getSingleMetricAsString('headset_updates_storage_unavailable')).split(' ').at(-1);
    const said = (msg: string) => lines.filter((line) => line.msg === msg);
    await other.start();
    await waitFor('the warning', () =>
      other.service.warnings?.().some(({ name, message }) => {
        return name === 'storage_unavailable' && message.includes('bucket no-such-bucket at ');
      }),
    );
    try {
      await waitFor('the metric', async () => (await gauge(other)) === '1');
      expect(other.notReady()).toBeUndefined();
      const { S3_ENDPOINT: endpoint } = server.environment;
      expect(said('the object storage is unavailable')).toMatchObject([
        {
          level: 50,
          bucket: 'no-such-bucket',
          endpoint,
          reason: expect.stringMatching(/no-such-bucket.*not found/),
        },
      ]);
      await createBucket({
        endpoint,
        bucket: 'no-such-bucket',
        region: server.environment.S3_REGION,
        accessKeyId: server.environment.AWS_ACCESS_KEY_ID,
        secretAccessKey: server.environment.AWS_SECRET_ACCESS_KEY,
      });
      await waitFor('the bucket to be seen', async () => (await gauge(other)) === '0');
      expect(said('the object storage is available again')).toHaveLength(1);
      await server.kill();
      await waitFor('the outage to be seen', async () => (await gauge(other)) === '1');
      await server.restart();
      await waitFor('the return to be seen', async () => (await gauge(other)) === '0');
      expect(said('the object storage is unavailable')).toHaveLength(2);
    } finally {
      await other.close();
    }
  });

  it('replaced credentials are named, and new ones work after a start', async () => {
    const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_REGION: region } = server.environment;
    const at = { endpoint, publicEndpoint: undefined, bucket, region, tempDir: join(directory, 'temp') };
    const right = process.env['AWS_SECRET_ACCESS_KEY'];
    process.env['AWS_SECRET_ACCESS_KEY'] = 'rotated-away';
    const old = createS3Storage(at);
    try {
      await expect(old.requireAvailable(0)).rejects.toMatchObject({
        code: 'unavailable',
        internal: expect.stringContaining('it answers 403 (SignatureDoesNotMatch)'),
      });
    } finally {
      old.close();
      process.env['AWS_SECRET_ACCESS_KEY'] = right;
    }
    const next = createS3Storage(at);
    try {
      await next.requireAvailable(0);
    } finally {
      next.close();
    }
  });

  it('a full disk for checks delays the check, loses nothing and leaves no part behind', async () => {
    const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_REGION: region } = server.environment;
    const tempDir = join(directory, 'full');
    // Simulates a disk that is full after a few bytes.
    const openFile = (path: string) => {
      const file = openSync(path, 'wx');
      return new Writable({
        write(chunk: Buffer, _encoding, done) {
          writeSync(file, chunk.subarray(0, 3));
          done(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }));
        },
        destroy: (error, done) => close(file, () => done(error)),
      });
    };
    const at = { endpoint, publicEndpoint: undefined, bucket, region, tempDir };
    const full = createS3Storage({ ...at, openFile });
    const roomy = createS3Storage(at);
    try {
      await full.prepare();
      const put = { key: 'uploads/0f', contentType: 'text/plain', sizeBytes: 1000 };
      const url = await full.signUpload({
        ...put,
        startMs: Math.floor(Date.now() / 1000) * 1000,
        seconds: 60,
      });
      const body = Buffer.alloc(1000, 'x');
      const answer = await request(url, { method: 'PUT', body, headers: { 'content-type': 'text/plain' } });
      await answer.body.dump();
      const { tag = '' } = (await full.head(put.key)) ?? {};
      await expect(full.fetch(put.key, tag)).rejects.toMatchObject({
        code: 'unavailable',
        retryAfterMs: 60_000,
        internal: expect.stringContaining(tempDir),
      });
      expect(readdirSync(join(tempDir, 'headset-uploads'))).toEqual([]);
      const copy = await roomy.fetch(put.key, tag);
      expect(readFileSync(copy.path).equals(body)).toBe(true);
      await copy.dispose();
    } finally {
      full.close();
      roomy.close();
    }
  });

  // protects against files/swap
  it('a file uploaded to the URL of a deliverable version does not change the delivered file, and is removed', async () => {
    const apk = await makeApk({ versionName: '6' });
    const { urls } = await ask('6', apk.length);
    const put = async (body: Buffer) => {
      const headers = { 'content-type': 'application/vnd.android.package-archive' };
      const answer = await request(urls[0]?.uploadUrl ?? '', { method: 'PUT', body, headers });
      await answer.body.dump();
      return answer.statusCode;
    };
    await put(apk);
    await waitFor('the sweep', async () => {
      world.nowMs += 100;
      return (await state('6')) === 'deliverable';
    });
    const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_REGION: region } = server.environment;
    const at = { endpoint, publicEndpoint: undefined, bucket, region, tempDir: directory };
    const storage = createS3Storage(at);
    try {
      const key = `uploads/${new URL(urls[0]?.uploadUrl ?? '').pathname.split('/').at(-1)}`;
      // The last step of the check, after the version became deliverable.
      await waitFor('the end of the check', async () => (await storage.head(key)) === undefined);
      const deviceId = '350000000000026';
      await world.updates.updateApp({ caller: callerOf(), deviceId, package: app, version: '6' });
      const kind = world.devices.sent.at(-1)?.operation?.kind;
      const ticket = (kind?.case === 'updateApp' && kind.value.artifact?.ticket) || new Uint8Array();
      expect(await put(Buffer.alloc(apk.length, 'x'))).toBe(200);
      const delivered = async () => {
        const { url } = await world.downloads.getDownloadUrl({ deviceId, ticket });
        const answer = await request(url);
        return Buffer.from(await answer.body.arrayBuffer()).equals(apk);
      };
      expect(await delivered()).toBe(true);
      expect(await storage.head(key)).toBeDefined();
      await waitFor('the upload to be closed', async () => {
        world.nowMs += 600_000;
        return (await storage.head(key)) === undefined;
      });
      world.nowMs = Date.now();
      expect(await delivered()).toBe(true);
    } finally {
      storage.close();
    }
  });
});
