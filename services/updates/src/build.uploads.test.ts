import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { ArtifactKind, ArtifactState } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { PackageDocument, UploadDocument } from './store/documents.ts';
import { callerOf, World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  world = await new World().start();
});
afterEach(() => world.close());

const app = 'com.example.app';
const apkType = 'application/vnd.android.package-archive';

function requestUpload(version = '1.0.0', sizeBytes = 10, caller = callerOf()) {
  return world.updates.requestUpload({ caller, package: app, version, sizeBytes: BigInt(sizeBytes) });
}

async function put(
  url: string,
  body: Buffer,
  contentType = apkType,
): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, {
    method: 'PUT',
    body: new Uint8Array(body),
    headers: { 'content-type': contentType },
  });
  return { status: answer.status, text: await answer.text() };
}

/** Requests an upload and uploads a package with the requested name and version. */
async function upload(version = '1.0.0', caller = callerOf(), apk?: Buffer) {
  const bytes = apk ?? (await makeApk({ package: app, versionName: version }));
  const answer = await requestUpload(version, bytes.length, caller);
  return { bytes, url: answer.urls[0]?.uploadUrl ?? '', answer };
}

const artifact = async (version = '1.0.0') =>
  (await world.admin.listArtifacts({ package: app })).artifacts.find((a) => a.version === version);

/** The state that the sweeper left. A list through the API would check the upload. */
const stored = (version = '1.0.0') =>
  world.bed.store
    .collection<{ _id: string; state: string }>('artifacts')
    .findOne({ _id: `software/${app}/${version}` });

// proves api/5/upload-no-multipart, api/9/chunk-part-size, api/9/url-lifetime
test('a package becomes deliverable by one PUT to the URL that the request returned', async () => {
  const { bytes, url, answer } = await upload();
  const start = answer.urls[0]?.startTimestampMs ?? 0n;
  expect(answer).toMatchObject({
    appFileExists: false,
    chunkPartSize: 10_485_760n,
    urls: [{ startTimestampMs: start, endTimestampMs: start + 3_600_000n, expireIn: 3600 }],
  });
  expect(Number(start)).toBe(Math.floor(world.nowMs / 1000) * 1000);
  expect(await artifact()).toMatchObject({ state: ArtifactState.UPLOADING, sha256: '' });
  expect(await put(url, bytes)).toEqual({ status: 200, text: 'The file was accepted.\n' });
  const { $typeName: _, ...made } = (await artifact()) ?? {};
  expect(made).toEqual({
    kind: ArtifactKind.SOFTWARE,
    package: app,
    version: '1.0.0',
    state: ArtifactState.DELIVERABLE,
    reason: '',
    sizeBytes: BigInt(bytes.length),
    sha256: createHash('sha256').update(bytes).digest('hex'),
    developerId: 'dev-a',
    updatedAtMs: BigInt(world.nowMs),
  });
});

test('the answer for an existing version reports that it exists and has no URL; the version is never overwritten', async () => {
  const first = await upload();
  await put(first.url, first.bytes);
  const before = await artifact();
  const { appFileExists, chunkPartSize, urls } = await requestUpload();
  expect({ appFileExists, chunkPartSize, urls }).toEqual({
    ...{ appFileExists: true, chunkPartSize: 10_485_760n, urls: [] },
  });
  // The first URL accepts no more uploads, not even of the same file.
  for (const bytes of [first.bytes, Buffer.from(first.bytes).fill(1)])
    expect(await put(first.url, bytes)).toMatchObject({
      ...{ status: 409, text: 'The version already exists or was withdrawn.\n' },
    });
  expect(await artifact()).toEqual(before);
  expect(readdirSync(join(world.directory, 'artifacts/uploads'))).toEqual([]);
});

test('of two uploads of one version the first that passes its check wins, and the other is rejected', async () => {
  const one = await upload('1.0.0', callerOf());
  const other = await upload(
    '1.0.0',
    callerOf(),
    await makeApk({ package: app, entries: { x: Buffer.alloc(9) } }),
  );
  const answers = await Promise.all([put(one.url, one.bytes), put(other.url, other.bytes)]);
  expect(answers.map((a) => a.status).toSorted()).toEqual([200, 409]);
  const winner = answers[0]?.status === 200 ? one : other;
  expect((await artifact())?.sha256).toBe(createHash('sha256').update(winner.bytes).digest('hex'));
  expect(readdirSync(join(world.directory, 'artifacts/artifacts'))).toHaveLength(1);
});

test('a corrupt package is rejected, uploader and operator see the reason, and the uploader may try again', async () => {
  const { bytes } = await upload();
  const broken = Buffer.from(bytes).fill(0, bytes.length >> 1);
  const { url } = await upload('1.0.0', callerOf(), broken);
  const rejected = await put(url, broken);
  expect(rejected.status).toBe(422);
  expect(rejected.text).toMatch(/^The file was rejected: It is not a whole Android package: /);
  expect(await artifact()).toMatchObject({
    state: ArtifactState.REJECTED,
    reason: expect.stringMatching(/^It is not a whole Android package: /),
  });
  expect((await world.updates.listApps({ caller: callerOf() })).appVersions).toEqual([]);
  // With S3 the PUT does not report the reason. The call that would install the version reports it.
  const update = world.updates.updateApp({
    caller: callerOf(),
    deviceId: '1',
    package: app,
    version: '1.0.0',
  });
  await expect(update).rejects.toMatchObject({
    code: 'invalid_body',
    message: expect.stringMatching(
      /^\/version 1\.0\.0 of com\.example\.app cannot be delivered: It is not a whole/,
    ),
  });
  const again = await upload();
  expect(await artifact()).toMatchObject({ state: ArtifactState.UPLOADING });
  expect((await put(again.url, again.bytes)).status).toBe(200);
  expect(await artifact()).toMatchObject({ state: ArtifactState.DELIVERABLE, reason: '' });
});

test('the URL of a rejected upload accepts another upload', async () => {
  const { url, bytes } = await upload();
  const wrong = Buffer.from(bytes).fill(1);
  expect((await put(url, wrong)).status).toBe(422);
  expect((await put(url, bytes)).status).toBe(200);
  expect(await artifact()).toMatchObject({ state: ArtifactState.DELIVERABLE, reason: '' });
});

test('while an upload of a package is open, another developer cannot upload it', async () => {
  await requestUpload();
  await expect(requestUpload('2.0.0', 10, callerOf('b'))).rejects.toMatchObject({
    code: 'invalid_body',
    message: '/package com.example.app is used by another developer.',
  });
  expect(await artifact('2.0.0')).toBeUndefined();
});

const othersName = {
  code: 'invalid_body',
  message: '/package com.example.app is used by another developer.',
};

test('a package whose upload expires without a file is free again, with no data of the previous developer', async () => {
  const first = await upload();
  await put(first.url, Buffer.from(first.bytes).fill(1));
  await requestUpload();
  world.nowMs += 3_599_000;
  await expect(requestUpload('1.0.0', 10, callerOf('b'))).rejects.toMatchObject(othersName);
  world.nowMs += 2000;
  // The package is not free while the sweeper checks once more whether a file has arrived.
  const theirs = await waitFor('the package to be free', () =>
    upload('1.0.0', callerOf('b')).catch((error) => {
      expect(error).toMatchObject(othersName);
      return undefined;
    }),
  );
  expect(await artifact()).toMatchObject({ developerId: 'dev-b', reason: '' });
  await expect(requestUpload()).rejects.toMatchObject(othersName);
  expect((await put(theirs.url, theirs.bytes)).status).toBe(200);
  expect(await artifact()).toMatchObject({ state: ArtifactState.DELIVERABLE, developerId: 'dev-b' });
});

test('a package whose only open upload was rejected is free again; a repeat of the request does not keep it', async () => {
  const key = callerOf('a', 'key');
  const first = await upload('1.0.0', key);
  expect((await put(first.url, Buffer.from(first.bytes).fill(1))).status).toBe(422);
  const theirs = await upload('1.0.0', callerOf('b'));
  expect((await put(first.url, first.bytes)).text).toBe(
    'The file was rejected: The package com.example.app is used by another developer.\n',
  );
  await expect(requestUpload('1.0.0', first.bytes.length, key)).rejects.toMatchObject(othersName);
  expect(await artifact()).toMatchObject({ state: ArtifactState.UPLOADING, developerId: 'dev-b' });
  expect((await put(theirs.url, theirs.bytes)).status).toBe(200);
});

test('while one upload of a package is open, the rejection of another does not free it', async () => {
  const first = await upload('1.0.0');
  await upload('2.0.0');
  await put(first.url, Buffer.from(first.bytes).fill(1));
  await expect(requestUpload('1.0.0', 10, callerOf('b'))).rejects.toMatchObject(othersName);
});

test('a package of which a version was accepted permanently belongs to its developer', async () => {
  const { url, bytes } = await upload();
  await put(url, bytes);
  await world.admin.withdrawArtifact({ kind: ArtifactKind.SOFTWARE, package: app, version: '1.0.0' });
  world.nowMs += 100 * 3_600_000;
  for (const version of ['1.0.0', '2.0.0']) {
    await expect(requestUpload(version, 10, callerOf('b'))).rejects.toMatchObject(othersName);
  }
});

test('a free package goes to the developer whose file is accepted first, also through an older URL', async () => {
  const first = await upload('1.0.0');
  await put(first.url, Buffer.from(first.bytes).fill(1));
  const theirs = await upload('2.0.0', callerOf('b'));
  await put(theirs.url, Buffer.from(theirs.bytes).fill(1));
  expect((await put(first.url, first.bytes)).status).toBe(200);
  expect((await put(theirs.url, theirs.bytes)).status).toBe(422);
  expect(await artifact('1.0.0')).toMatchObject({ state: ArtifactState.DELIVERABLE, developerId: 'dev-a' });
  expect((await world.updates.listApps({ caller: callerOf('b') })).appVersions).toEqual([]);
});

test('if files of two developers for a free package are checked at the same time, one developer gets it', async () => {
  const urls: { url: string; bytes: Buffer }[] = [];
  for (const [version, developer] of [
    ['1.0.0', 'a'],
    ['2.0.0', 'b'],
  ] as const) {
    const one = await upload(version, callerOf(developer));
    await put(one.url, Buffer.from(one.bytes).fill(1));
    urls.push(one);
  }
  const answers = await Promise.all(urls.map(({ url, bytes }) => put(url, bytes)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422]);
  const { artifacts } = await world.admin.listArtifacts({ package: app });
  expect(artifacts.filter((one) => one.state === ArtifactState.DELIVERABLE)).toHaveLength(1);
  expect(readdirSync(join(world.directory, 'artifacts/artifacts'))).toHaveLength(1);
});

test('a check that crashes after it assigned the package keeps the assignment', async () => {
  const { url, bytes } = await upload();
  world.cutAt = 'after store updates.packages.accepted';
  await put(url, bytes).catch(() => undefined);
  expect(await stored()).toMatchObject({ state: 'uploading' });
  await expect(requestUpload('2.0.0', 10, callerOf('b'))).rejects.toMatchObject(othersName);
});

test('a request that crashes before its upload is stored holds the package for a minute', async () => {
  world.cutAt = 'after store updates.packages';
  await expect(requestUpload()).rejects.toThrow();
  await expect(requestUpload('1.0.0', 10, callerOf('b'))).rejects.toMatchObject(othersName);
  world.nowMs += 60_001;
  await requestUpload('1.0.0', 10, callerOf('b'));
});

/** As release 0.1.0 wrote the documents. */
const ofOldRelease = () =>
  world.bed.store
    .collection<PackageDocument>('packages')
    .updateMany({}, { $unset: { accepted: '', claim: '', revision: '' } });

test('a package of release 0.1.0 belongs to its developer if a version was accepted', async () => {
  const { url, bytes } = await upload();
  await put(url, bytes);
  await ofOldRelease();
  world.nowMs += 3_600_001;
  await expect(requestUpload('2.0.0', 10, callerOf('b'))).rejects.toMatchObject(othersName);
  await requestUpload('2.0.0');
});

test('a package of release 0.1.0 without an accepted version is held only by an open upload', async () => {
  await requestUpload();
  await ofOldRelease();
  await expect(requestUpload('2.0.0', 10, callerOf('b'))).rejects.toMatchObject(othersName);
  world.nowMs += 3_600_001;
  // The package is still held while the sweeper checks once more whether a file has arrived.
  await waitFor('the package to be free', () =>
    requestUpload('2.0.0', 10, callerOf('b')).catch((error) => {
      expect(error).toMatchObject(othersName);
    }),
  );
});

// protects against files/upload-flood
test('a developer has at most 200 open uploads; a request beyond the limit claims no package', async () => {
  const ask = (name: string, developer: 'a' | 'b' = 'a') =>
    world.updates.requestUpload({
      caller: callerOf(developer),
      ...{ package: name, version: '1', sizeBytes: 10n },
    });
  for (let i = 0; i < 200; i += 1) await ask(`com.flood.n${i}`);
  await expect(ask('com.flood.more')).rejects.toMatchObject({
    code: 'too_many_requests',
    message: 'Too many uploads of this developer are open: at most 200.',
    limit: { policy: 'developer-uploads', quota: 200 },
    retryAfterMs: 3_600_000,
  });
  await ask('com.flood.more', 'b');
  world.nowMs += 3_600_001;
  await ask('com.flood.other');
});

/** Number of these concurrent requests that got a URL. The others are rejected because of the limit. */
async function successes(many: number, ask: (i: number) => Promise<unknown>): Promise<number> {
  const done = await Promise.all(
    Array.from({ length: many }, (_, i) =>
      ask(i).then(
        () => 'successes',
        (error) => error.code,
      ),
    ),
  );
  expect(new Set(done)).toEqual(new Set(['successes', 'too_many_requests']));
  return done.filter((one) => one === 'successes').length;
}

// protects against files/upload-flood
test('the limits of open uploads per version and per developer hold for concurrent requests', async () => {
  expect(await successes(30, () => requestUpload())).toBe(20);
  const others = (i: number) =>
    world.updates.requestUpload({
      caller: callerOf(),
      ...{ package: `com.flood.n${i}`, version: '1', sizeBytes: 10n },
    });
  expect(await successes(210, others)).toBe(180);
});

test('a request that crashes before its upload is stored reserves its place for only a minute', async () => {
  for (let i = 0; i < 19; i += 1) await requestUpload();
  world.cutAt = 'after store updates.packages';
  await expect(requestUpload()).rejects.toThrow();
  await expect(requestUpload()).rejects.toMatchObject({ code: 'too_many_requests', retryAfterMs: 60_000 });
  world.nowMs += 60_001;
  await requestUpload();
  await expect(requestUpload()).rejects.toMatchObject({ code: 'too_many_requests' });
});

test('of two developers that request a package at the same time exactly one gets it', async () => {
  for (let round = 0; round < 10; round += 1) {
    const ask = (developer: 'a' | 'b') =>
      world.updates
        .requestUpload({
          caller: callerOf(developer),
          package: `com.race.r${round}`,
          version: '1',
          sizeBytes: 1n,
        })
        .then(
          () => 'won',
          (error) => error.code,
        );
    expect((await Promise.all([ask('a'), ask('b')])).toSorted()).toEqual(['invalid_body', 'won']);
  }
});

test.each([
  ['com.vendor.app', '1', 1n, /^\/package must not start with com\.vendor\., which is reserved\.$/],
  ['com.vendor', '1', 1n, /^\/package must not start with/],
  [app, '1', 0n, /^\/fileSize must be from 1 to 1073741824 bytes\.$/],
  [app, '1', 1_073_741_825n, /^\/fileSize must be/],
])('%s %s of %s bytes is rejected, and stores nothing', async (name, version, sizeBytes, message) => {
  await expect(
    world.updates.requestUpload({ caller: callerOf(), package: name, version, sizeBytes }),
  ).rejects.toMatchObject({ code: 'invalid_body', message: expect.stringMatching(message) });
  for (const collection of ['packages', 'artifacts', 'uploads', 'idempotency']) {
    expect(await world.bed.store.collection(collection).countDocuments()).toBe(0);
  }
});

test('the largest allowed size is accepted', async () => {
  expect((await requestUpload('1', 1_073_741_824)).urls).toHaveLength(1);
});

test('a repeat under an Idempotency-Key signs again for the same upload; another body is rejected', async () => {
  const key = callerOf('a', 'key-1');
  const first = await requestUpload('1.0.0', 10, key);
  world.nowMs += 60_000;
  const second = await requestUpload('1.0.0', 10, key);
  const [a, b] = [first.urls[0], second.urls[0]];
  expect(b?.uploadUrl).not.toBe(a?.uploadUrl);
  expect((b?.startTimestampMs ?? 0n) - (a?.startTimestampMs ?? 0n)).toBe(60_000n);
  expect(await world.bed.store.collection('uploads').countDocuments()).toBe(1);
  await expect(requestUpload('1.0.0', 11, callerOf('a', 'key-1', 2))).rejects.toMatchObject({
    code: 'idempotency_key_reused',
  });
});

test('a version has at most 20 open uploads; expired uploads do not count', async () => {
  for (let i = 0; i < 20; i += 1) await requestUpload();
  await expect(requestUpload()).rejects.toMatchObject({
    code: 'too_many_requests',
    limit: { policy: 'open-uploads', quota: 20 },
    retryAfterMs: 3_600_000,
  });
  await requestUpload('1.0.1');
  world.nowMs += 3_600_001;
  await requestUpload();
});

test('an upload that never arrives is reported as such, and is removed', async () => {
  await requestUpload();
  world.nowMs += 3_600_000;
  await waitFor('the expiry', async () => (await artifact())?.state === ArtifactState.REJECTED);
  expect((await artifact())?.reason).toBe('No file was uploaded before the URL expired.');
  world.nowMs += 3_600_000;
  await waitFor('the end', async () => (await world.bed.store.collection('uploads').countDocuments()) === 0);
});

test('a withdrawn version stays withdrawn: it is neither installed nor uploaded again', async () => {
  const { url, bytes } = await upload();
  await put(url, bytes);
  const { artifact: withdrawn } = await world.admin.withdrawArtifact({
    ...{ kind: ArtifactKind.SOFTWARE, package: app, version: '1.0.0' },
  });
  expect(withdrawn?.state).toBe(ArtifactState.WITHDRAWN);
  expect((await world.updates.listApps({ caller: callerOf() })).appVersions).toEqual([]);
  await expect(requestUpload()).rejects.toMatchObject({
    code: 'invalid_body',
    message: '/version 1.0.0 of com.example.app was withdrawn. Upload another version.',
  });
  expect((await put(url, bytes)).status).toBe(409);
  expect(await artifact()).toMatchObject({ state: ArtifactState.WITHDRAWN });
});

test('a client without a developer is refused with the error of devices', async () => {
  const caller = { clientId: 'unknown', applicationId: 'app' };
  await expect(requestUpload('1', 1, caller)).rejects.toMatchObject({ code: 'developer_not_registered' });
});

test.each([
  'before store updates.uploads.findOneAndUpdate',
  'after store updates.uploads.findOneAndUpdate',
  'before store updates.packages',
  'after store updates.packages.accepted',
  'after store updates.artifacts.updateOne',
])('an upload whose check crashes %s still becomes deliverable, once', async (step) => {
  const { url, bytes } = await upload();
  world.cutAt = step;
  await put(url, bytes).catch(() => undefined);
  await world.restart();
  await waitFor('the check', async () => {
    world.nowMs += 1000;
    return (await artifact())?.state === ArtifactState.DELIVERABLE;
  });
  await waitFor('the upload to be removed', () => {
    world.nowMs += 1000;
    return readdirSync(join(world.directory, 'artifacts/uploads')).length === 0;
  });
  expect(readdirSync(join(world.directory, 'artifacts/artifacts'))).toHaveLength(1);
  expect(readdirSync(join(world.directory, 'artifacts/partial'))).toEqual([]);
  expect((await requestUpload()).appFileExists).toBe(true);
});

test('a check that an instance with a fast clock postponed does not block its upload', async () => {
  const { url, bytes } = await upload();
  const aheadMs = 3_000_000;
  world.nowMs += aheadMs;
  world.cutAt = 'before store updates.packages';
  await put(url, bytes).catch(() => undefined);
  await world.restart();
  world.nowMs -= aheadMs;
  await waitFor('the check', async () => (await stored())?.state === 'deliverable');
});

test('an instance with a fast clock that dies during a check does not block its upload', async () => {
  const { url, bytes } = await upload();
  const uploads = world.bed.store.collection('uploads');
  const untilMs = world.nowMs + 3_600_000;
  await uploads.updateMany({}, { $set: { leaseUntilMs: untilMs, dueAtMs: untilMs } });
  expect(await put(url, bytes)).toEqual({ status: 200, text: 'The file was accepted.\n' });
});

test('an upload that only waits for its close is not checked before, unless the close is too far in the future', async () => {
  const { url, bytes } = await upload();
  await put(url, bytes);
  const uploads = () => world.bed.store.collection<UploadDocument>('uploads');
  const settled = () => uploads().findOne({ settled: true });
  const { expiresAtMs = 0, dueAtMs } = (await settled()) ?? {};
  expect(dueAtMs).toBe(expiresAtMs + 3_600_000);
  await world.restart();
  await requestUpload('2.0.0');
  world.nowMs += 1000;
  await waitFor('a sweep', async () => (await uploads().findOne({ looks: 1 })) !== null);
  expect((await settled())?.dueAtMs).toBe(dueAtMs);
  await uploads().updateMany({ settled: true }, { $set: { dueAtMs: world.nowMs + 86_400_000 } });
  await world.restart();
  await waitFor('the recall', async () => (await settled())?.dueAtMs === dueAtMs);
});

test.each([
  'after store updates.packages',
  'after store updates.uploads.updateOne',
  'after store updates.artifacts',
])('a request that crashes %s can be repeated', async (step) => {
  world.cutAt = step;
  await expect(requestUpload('1.0.0', 10, callerOf('a', 'key'))).rejects.toThrow();
  const bytes = await makeApk({ package: app });
  const { urls } = await requestUpload('1.0.0', bytes.length);
  expect((await put(urls[0]?.uploadUrl ?? '', bytes)).status).toBe(200);
  expect((await requestUpload('1.0.0', 10, callerOf('a', 'key'))).appFileExists).toBe(true);
});

test('URLs stay valid after a restart', async () => {
  const { url, bytes } = await upload();
  await world.restart();
  // Port 0: the server listens on another port now.
  const { urls } = await requestUpload();
  const moved = new URL(new URL(url).pathname, urls[0]?.uploadUrl).href;
  expect((await put(moved, bytes)).status).toBe(200);
});

test('outcomes are counted', async () => {
  const { url, bytes } = await upload();
  await put(url, Buffer.from(bytes).fill(0));
  await put(url, bytes);
  const text = await world.metrics.getSingleMetricAsString('headset_updates_checks_total');
  expect(text).toContain('headset_updates_checks_total{outcome="rejected"} 1');
  expect(text).toContain('headset_updates_checks_total{outcome="deliverable"} 1');
});
