import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { artifactId, uploadKey } from '../domain/artifact.ts';
import { type ArtifactStorage, DiskFullError } from '../ports/artifact-storage.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { PackageNames } from '../ports/package-names.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import { createLocalStorage, type LocalStorage } from '../storage/local.ts';
import type { UploadAnswer } from '../storage/local-server.ts';
import { createCatalogue } from '../store/catalogue.ts';
import { collections, type UploadDocument } from '../store/documents.ts';
import { createPackageNames } from '../store/packages.ts';
import { createUploadStore } from '../store/uploads.ts';
import { checksHere } from '../testing/checks-here.ts';
import { answerUpload, refuseUpload } from './answer.ts';
import { type CheckOutcome, createChecker } from './checker.ts';

const hourMs = 3_600_000;
const leaseMs = 30_000;
const name = { kind: 'software', package: 'com.example.app', version: '1' } as const;
const id = '0a';
const key = uploadKey(id);

let bed: TestBed;
let disk: LocalStorage;
let packages: PackageNames;
let catalogue: Catalogue;
let uploads: UploadStore;
let nowMs: number;
let time: FakeTime;
let counted: CheckOutcome['kind'][];
let fetches: number;
let diskFull: number;
/** Callback that runs once, when a check has read the file. */
let whenFetched: (() => Promise<void>) | undefined;
let good: Buffer;
let bad: Buffer;

/** Tag of the file that was put last. */
let tag: string;
beforeEach(async () => {
  bed = openTestBed('updates');
  const secrets = createSecretBox('a test secret of more than thirty-two characters');
  disk = createLocalStorage({ folder: `${bed.directory}/files`, secrets, publicUrl: () => 'http://files' });
  await disk.prepare();
  catalogue = createCatalogue(bed.store.collection(collections.artifacts));
  packages = createPackageNames(
    bed.store.collection(collections.packages),
    bed.store.collection(collections.artifacts),
    bed.store.collection(collections.uploads),
  );
  uploads = createUploadStore(bed.store.collection(collections.uploads));
  nowMs = Date.now();
  time = createFakeTime();
  [counted, fetches, diskFull, whenFetched] = [[], 0, 0, undefined];
  good = await makeApk({ package: name.package, versionName: name.version });
  bad = Buffer.from(good).fill(0, good.length >> 1);
  await open();
});
afterEach(() => bed.remove());

async function open(uploadId = id): Promise<void> {
  const { withdrawals = 0 } = (await catalogue.get(artifactId(name))) ?? {};
  const [developerId, sizeBytes, expiresAtMs] = ['dev-a', good.length, nowMs + hourMs];
  await uploads.open(
    { id: uploadId, artifactId: artifactId(name), developerId, sizeBytes, expiresAtMs, withdrawals },
    nowMs,
  );
  await catalogue.open({ name, developerId, sizeBytes, uploadId }, nowMs, false);
}

async function put(content: Buffer, to = key): Promise<void> {
  tag = (await disk.write(to, Readable.from([content]), content.length)).tag;
}
async function withdrawByDeveloper(): Promise<void> {
  const record = { target: artifactId(name) } as unknown as PendingAuditRecord;
  const of = { developerId: 'dev-a', withdrawals: 0 };
  expect(await catalogue.withdrawByDeveloper(artifactId(name), of, nowMs, record)).toBeDefined();
}

const state = async () => (await catalogue.get(artifactId(name)))?.state;

/** Waits for the answer to an uploader. Time advances only between two tries, so the longest wait is not reached. */
async function untilAnswered(answering: Promise<UploadAnswer>): Promise<UploadAnswer> {
  let answered = false;
  const ended = answering.finally(() => {
    answered = true;
  });
  await waitFor('the answer', async () => {
    // One timer limits the whole wait, the other one is the pause between two tries.
    if (time.timers === 2) await time.advance(100);
    return answered;
  });
  return ended;
}

/** A checker of one instance. `keeping`: like S3, the storage cannot compare and remove in one step. */
function checkerOf({ keeping = false, storage = {} as Partial<ArtifactStorage> } = {}) {
  return createChecker({
    ...{
      packages,
      catalogue,
      uploads,
      leaseMs,
      lifetimeMs: hourMs,
      logger: bed.logger,
    },
    clock: { now: () => nowMs },
    contents: checksHere,
    storage: {
      ...disk,
      ...(keeping && { discard: async () => {} }),
      async fetch(from, tag) {
        const copy = await disk.fetch(from, tag);
        fetches += 1;
        const hook = whenFetched;
        whenFetched = undefined;
        await hook?.();
        return copy;
      },
      ...storage,
    },
    onDiskFull: () => {
      diskFull += 1;
    },
    onOutcome: (outcome) => {
      if (outcome.kind !== 'absent') counted.push(outcome.kind);
    },
  });
}

describe.each([
  ['this machine’s disk', false],
  ['S3', true],
])('on %s', (_, keeping) => {
  test('a good file that is put to the URL while a bad one is being checked is checked next', async () => {
    const check = checkerOf({ keeping });
    await put(bad);
    whenFetched = () => put(good);
    expect(await check(id)).toMatchObject({ kind: 'rejected', rule: 'not_whole' });
    expect(await check(id)).toMatchObject({ kind: 'deliverable' });
    expect(await state()).toBe('deliverable');
  });

  test('a rejected file is read and counted once, and is removed when the upload closes', async () => {
    const check = checkerOf({ keeping });
    await put(bad);
    await check(id);
    expect(existsSync(disk.file(key))).toBe(keeping);
    for (let i = 0; i < 3; i += 1) expect(await check(id)).toMatchObject({ kind: 'absent' });
    expect([fetches, counted]).toEqual([1, ['rejected']]);
    nowMs += 2 * hourMs;
    await check(id);
    expect(existsSync(disk.file(key))).toBe(false);
    expect(await uploads.unsettled({ artifactId: artifactId(name) }, 9)).toEqual([]);
    expect(counted).toEqual(['rejected']);
  });

  test('while the disk for checks is full, the check is postponed and counted, and runs when space is free', async () => {
    await put(good);
    const storage = { fetch: () => Promise.reject(new DiskFullError('/tmp', good.length)) };
    await expect(checkerOf({ keeping, storage })(id)).rejects.toMatchObject({ code: 'unavailable' });
    expect([diskFull, await state()]).toEqual([1, 'uploading']);
    expect(await checkerOf({ keeping })(id)).toMatchObject({ kind: 'deliverable' });
    expect(diskFull).toBe(1);
  });

  test('a rejected file does not change a version that is opened again', async () => {
    const check = checkerOf({ keeping });
    await put(bad);
    await check(id);
    await open('0b');
    await check(id);
    expect(await state()).toBe('uploading');
  });

  test('a version that is opened again waits for the new file, whatever happens to the old file', async () => {
    const check = checkerOf({ keeping });
    await put(bad.subarray(0, 100));
    await open('0b');
    expect(await check(id)).toMatchObject({ kind: 'rejected', rule: 'size' });
    expect(await state()).toBe('uploading');
    await put(good, uploadKey('0b'));
    expect(await check('0b')).toMatchObject({ kind: 'deliverable' });
    expect(await state()).toBe('deliverable');
  });

  test('a file that is first found when its upload closes is checked, and the next check closes the upload', async () => {
    const check = checkerOf({ keeping });
    await put(bad);
    nowMs += 2 * hourMs;
    whenFetched = () => put(good);
    expect(await check(id)).toMatchObject({ kind: 'rejected' });
    expect(await check(id)).toMatchObject({ kind: 'deliverable' });
    expect(await uploads.unsettled({ artifactId: artifactId(name) }, 9)).toEqual([]);
  });

  test('a file that replaces another during the check at the close is checked and not removed', async () => {
    const storage: Partial<ArtifactStorage> = {
      async copyChecked(...args) {
        await put(good);
        storage.copyChecked = disk.copyChecked;
        await disk.copyChecked(...args);
      },
    };
    await put(good);
    nowMs += 2 * hourMs;
    const check = checkerOf({ keeping, storage });
    expect(await check(id)).toEqual({ kind: 'changed' });
    expect(await checkerOf({ keeping })(id)).toMatchObject({ kind: 'deliverable' });
  });

  test('a check that dies before it stores a rejection is repeated', async () => {
    await put(bad);
    const { release } = uploads;
    uploads.release = () => Promise.reject(new Error('killed'));
    await expect(checkerOf({ keeping })(id)).rejects.toThrow('killed');
    uploads.release = release;
    nowMs += leaseMs;
    expect(await checkerOf({ keeping })(id)).toMatchObject({ kind: 'rejected' });
    expect(await state()).toBe('rejected');
  });

  test.each([
    ['accepted', () => good, { status: 200, text: 'The file was accepted.' }],
    [
      'rejected',
      () => bad,
      { status: 422, text: expect.stringMatching(/^The file was rejected: It is not a/) },
    ],
  ])(
    'the uploader is informed that the file was %s if another check was first',
    async (_kind, content, answer) => {
      const check = checkerOf({ keeping });
      await put(content());
      const sweep = check(id);
      const answering = answerUpload(check, id, tag, time);
      await sweep;
      expect(await untilAnswered(answering)).toEqual(answer);
      expect(counted).toHaveLength(1);
    },
  );

  test('a file that is put to the URL while another one is accepted is answered 409', async () => {
    const storage: Partial<ArtifactStorage> = {
      async copyChecked(...args) {
        await disk.copyChecked(...args);
        await put(Buffer.from(good).fill(1, 0, 9));
      },
    };
    const check = checkerOf({ keeping, storage });
    await put(good);
    const first = answerUpload(check, id, tag, time);
    expect(await untilAnswered(first)).toMatchObject({ status: 200 });
    expect(await untilAnswered(answerUpload(check, id, tag, time))).toMatchObject({ status: 409 });
    expect(await disk.head(key)).toBeUndefined();
  });

  test('an accepted upload accepts no more files, even after its version was withdrawn and uploaded again', async () => {
    const check = checkerOf({ keeping });
    expect(await refuseUpload({ uploads, catalogue }, id)).toBeUndefined();
    await put(good);
    await check(id);
    expect(await refuseUpload({ uploads, catalogue }, id)).toMatchObject({ status: 409 });
    await withdrawByDeveloper();
    await open('0b');
    expect(await refuseUpload({ uploads, catalogue }, id)).toMatchObject({ status: 409 });
    expect(await refuseUpload({ uploads, catalogue }, '0b')).toBeUndefined();
    // A storage such as S3 stores the file anyway.
    await put(good);
    expect(await check(id)).toEqual({ kind: 'superseded' });
    expect([await disk.head(key), await state()]).toEqual([undefined, 'uploading']);
    await put(good, uploadKey('0b'));
    expect(await check('0b')).toMatchObject({ kind: 'deliverable' });
  });

  test('a check that runs while its version is withdrawn and opened again delivers nothing', async () => {
    await open('0b');
    await put(good);
    await checkerOf({ keeping })(id);
    await withdrawByDeveloper();
    await open('0c');
    await put(good, uploadKey('0b'));
    expect(await checkerOf({ keeping })('0b')).toEqual({ kind: 'superseded' });
    expect(await state()).toBe('uploading');
  });

  test('the uploader is informed that the version exists if another check removed the file', async () => {
    const check = checkerOf({ keeping });
    await open('0b');
    await put(good, uploadKey('0b'));
    await check('0b');
    await put(good);
    await check(id);
    expect(await untilAnswered(answerUpload(check, id, tag, time))).toMatchObject({ status: 409 });
  });
});

test('a URL is not signed again while its upload is being closed, so that no file put to it is removed', async () => {
  const [developerId, sizeBytes, aId] = ['dev-a', good.length, artifactId(name)];
  await put(bad);
  await checkerOf({ keeping: true })(id);
  nowMs += 2 * hourMs;
  const again = () =>
    uploads.open({ id, artifactId: aId, developerId, sizeBytes, expiresAtMs: nowMs + hourMs }, nowMs);
  let removing = false;
  const remove = async (of: string) => {
    removing = true;
    await expect(again()).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
    await disk.remove(of);
  };
  await checkerOf({ keeping: true, storage: { remove } })(id);
  expect(removing).toBe(true);
  await again();
  await put(good);
  expect(await checkerOf({ keeping: true })(id)).toMatchObject({ kind: 'deliverable' });
});

test('concurrent calls that open one upload for the first time both succeed', async () => {
  const collection = bed.store.collection<UploadDocument>(collections.uploads);
  let tries = 0;
  // MongoDB rejects one of two concurrent upserts that insert the same document.
  const racing = createUploadStore({
    ...collection,
    updateOne: async (...args: Parameters<typeof collection.updateOne>) => {
      tries += 1;
      if (tries === 1) throw Object.assign(new Error('E11000 duplicate key'), { code: 11_000 });
      return collection.updateOne(...args);
    },
  } as typeof collection);
  const [artifact, expiresAtMs] = [artifactId(name), nowMs + hourMs];
  await racing.open(
    { id: '0c', artifactId: artifact, developerId: 'dev-a', sizeBytes: 1, expiresAtMs },
    nowMs,
  );
  expect(tries).toBe(2);
  expect(await collection.countDocuments({ _id: '0c' })).toBe(1);
});

test('an upload whose URL is signed again just before it closes stays open, with its file', async () => {
  await put(bad);
  await checkerOf({ keeping: true })(id);
  nowMs += 2 * hourMs;
  const { close } = uploads;
  uploads.close = async (...args) => {
    await open();
    await put(good);
    return close(...args);
  };
  await checkerOf({ keeping: true })(id);
  uploads.close = close;
  expect(await checkerOf({ keeping: true })(id)).toMatchObject({ kind: 'deliverable' });
});

test('an interrupted close is completed', async () => {
  await put(bad);
  await checkerOf({ keeping: true })(id);
  nowMs += 2 * hourMs;
  const remove = () => Promise.reject(new Error('away'));
  await expect(checkerOf({ keeping: true, storage: { remove } })(id)).rejects.toThrow('away');
  await checkerOf({ keeping: true })(id);
  expect(existsSync(disk.file(key))).toBe(false);
  expect(await uploads.unsettled({ artifactId: artifactId(name) }, 9)).toEqual([]);
});

describe('clocks', () => {
  test('a claim that ends later than a correct clock allows does not block its upload', async () => {
    await put(good);
    const untilMs = nowMs + hourMs + leaseMs;
    await bed.store
      .collection<UploadDocument>(collections.uploads)
      .updateOne({ _id: id }, { $set: { leaseUntilMs: untilMs, dueAtMs: untilMs } });
    expect(await checkerOf()(id)).toMatchObject({ kind: 'deliverable' });
  });

  test('clocks that differ by a minute respect each other’s claims', async () => {
    await put(good);
    whenFetched = async () => {
      nowMs -= 60_000;
      expect(await checkerOf()(id)).toEqual({ kind: 'busy' });
      nowMs += 60_000;
    };
    expect(await checkerOf()(id)).toMatchObject({ kind: 'deliverable' });
    expect(fetches).toBe(1);
  });

  test('an instance never checks an upload twice at once, whatever its claim contains', async () => {
    const check = checkerOf();
    await put(good);
    whenFetched = async () => {
      nowMs += hourMs;
      expect(await check(id)).toEqual({ kind: 'busy' });
    };
    expect(await check(id)).toMatchObject({ kind: 'deliverable' });
  });

  test('two checks at once, by instances whose clocks differ by an hour, make one deliverable file', async () => {
    await put(good);
    whenFetched = async () => {
      nowMs -= hourMs;
      expect(await checkerOf()(id)).toMatchObject({ kind: 'deliverable' });
      nowMs += hourMs;
    };
    await checkerOf({ storage: { copyChecked: async () => {}, remove: async () => {} } })(id);
    const { objectKey = '' } = (await catalogue.get(artifactId(name))) ?? {};
    expect(await state()).toBe('deliverable');
    expect(await disk.head(objectKey)).toBeDefined();
    expect(counted).toEqual(['deliverable', 'deliverable']);
  });
});
