import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import { createCatalogue } from './catalogue.ts';
import {
  type ArtifactDocument,
  collections,
  type PackageDocument,
  type UploadDocument,
} from './documents.ts';
import { createPackageNames } from './packages.ts';
import { createUploadStore } from './uploads.ts';

const app = 'com.example.app';
const name = { kind: 'software', package: app, version: '1' } as const;
const nowMs = 1_000_000_000;

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('updates');
});
afterEach(() => bed.remove());

const packages = () => bed.store.collection<PackageDocument>(collections.packages);
const artifacts = () => bed.store.collection<ArtifactDocument>(collections.artifacts);
const uploads = () => bed.store.collection<UploadDocument>(collections.uploads);

/** Package names as one instance sees them. `beforeWrite` runs once, between a read and the following write. */
function namesOf(beforeWrite?: () => Promise<unknown>) {
  let hook = beforeWrite;
  const paused = async () => {
    const run = hook;
    hook = undefined;
    await run?.();
  };
  const collection = packages();
  const slow: Partial<StoreCollection<PackageDocument>> = {
    findOne: (...args) => collection.findOne(...args),
    insertOne: async (...args) => {
      await paused();
      return collection.insertOne(...args);
    },
    updateOne: async (...args) => {
      await paused();
      return collection.updateOne(...args);
    },
  };
  return createPackageNames(slow as StoreCollection<PackageDocument>, artifacts(), uploads());
}

/** The calls that a request makes. */
async function request(developerId: string, uploadId: string, atMs = nowMs): Promise<string> {
  const owner = await namesOf().claim(app, developerId, uploadId, atMs);
  if (owner === developerId) {
    const upload = { id: uploadId, artifactId: 'software/com.example.app/1', developerId, sizeBytes: 1 };
    await createUploadStore(uploads()).open({ ...upload, expiresAtMs: atMs + 1000 }, atMs);
  }
  return owner;
}

const laterMs = nowMs + 1001;

test('a free package is claimed by exactly one of two concurrent claims', async () => {
  const names = namesOf(() => request('dev-b', 'b'));
  expect(await names.claim(app, 'dev-a', 'a', nowMs)).toBe('dev-b');
});

test.each(['claim', 'accept'] as const)(
  '%s of a free package loses against a claim between its read and its write',
  async (what) => {
    await request('dev-a', 'a');
    const names = namesOf(() => request('dev-a', 'again', laterMs));
    const owner =
      what === 'claim'
        ? await names.claim(app, 'dev-b', 'b', laterMs)
        : await names.accept(app, 'dev-b', laterMs);
    expect(owner).toBe('dev-a');
  },
);

test.each(['claim', 'accept'] as const)(
  '%s of a free package loses against the acceptance of a late file between its read and its write',
  async (what) => {
    await request('dev-a', 'a');
    const names = namesOf(() => namesOf().accept(app, 'dev-a', laterMs));
    const owner =
      what === 'claim'
        ? await names.claim(app, 'dev-b', 'b', laterMs)
        : await names.accept(app, 'dev-b', laterMs);
    expect(owner).toBe('dev-a');
    expect(await namesOf().ownerOf(app, laterMs + 1e9)).toBe('dev-a');
  },
);

test('a file that is being checked when its URL expires holds the package until then', async () => {
  await request('dev-a', 'a');
  const [claimMs, untilMs] = [nowMs + 999, nowMs + 30_000];
  await createUploadStore(uploads()).claim('a', { nowMs: claimMs, untilMs, latestMs: nowMs + 1e6 });
  expect(await request('dev-b', 'b', laterMs)).toBe('dev-a');
  expect(await request('dev-b', 'b', untilMs + 1)).toBe('dev-b');
});

test('a package whose name has the same beginning is not affected', async () => {
  await request('dev-a', 'a');
  await uploads().updateOne({ _id: 'a' }, { $set: { artifactId: `software/${app}0/1` } });
  expect(await namesOf().ownerOf(app, nowMs)).toBeUndefined();
});

test('a file that an instance of 0.1.0 accepted gives the package to its developer', async () => {
  await request('dev-a', 'a');
  const catalogue = createCatalogue(artifacts());
  await catalogue.open({ name, developerId: 'dev-a', sizeBytes: 1, uploadId: 'a' }, nowMs, false);
  await request('dev-b', 'b', laterMs);
  const content = { developerId: 'dev-a', objectKey: 'k', sizeBytes: 1, sha256: 'ab' };
  await catalogue.deliver('software/com.example.app/1', 0, content, laterMs);
  expect(await namesOf().accept(app, 'dev-b', laterMs)).toBe('dev-a');
  expect(await packages().findOne({ _id: app })).toMatchObject({ developerId: 'dev-a', accepted: true });
});
