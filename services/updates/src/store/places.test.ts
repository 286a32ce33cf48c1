import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { UploadPlaces } from '../ports/upload-places.ts';
import { collections, type PlacesDocument, type UploadDocument } from './documents.ts';
import { createUploadPlaces } from './places.ts';
import { createUploadStore } from './uploads.ts';

const nowMs = 1_000_000_000;
const hourMs = 3_600_000;
const most = { ofVersion: 3, ofDeveloper: 5 };

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('updates', { onMongo: true });
});
afterEach(() => bed.remove());

const uploads = () => bed.store.collection<UploadDocument>(collections.uploads);
const places = () =>
  createUploadPlaces(bed.store.collection<PlacesDocument>(collections.uploadPlaces), uploads());
const of = (uploadId: string, version = '1', developerId = 'dev') => ({
  ...{ uploadId, developerId, artifactId: developerId ? `software/a/${version}` : `firmware/${version}` },
});
const store = ({ uploadId, ...upload }: ReturnType<typeof of>) =>
  createUploadStore(uploads()).open(
    { id: uploadId, ...upload, sizeBytes: 1, expiresAtMs: nowMs + hourMs },
    nowMs,
  );

/** One instance per call, all at once. Each instance stores its upload if it got a place. */
async function takeAtOnce(many: number, upload: (i: number) => ReturnType<typeof of>) {
  const one = async (i: number, its: UploadPlaces) => {
    const refused = await its.take(upload(i), most, nowMs);
    if (!refused) await store(upload(i));
    return refused?.full ?? 'taken';
  };
  const outcomes = await Promise.all(Array.from({ length: many }, (_, i) => one(i, places())));
  return Object.fromEntries(
    [...new Set(outcomes)]
      .sort()
      .map((kind) => [kind, outcomes.filter((outcome) => outcome === kind).length]),
  );
}

test('concurrent calls get exactly the free places of a version and of a developer', async () => {
  expect(await takeAtOnce(12, (i) => of(`a${i}`))).toEqual({ taken: 3, version: 9 });
  expect(await takeAtOnce(12, (i) => of(`b${i}`, `2.${i}`))).toEqual({ developer: 10, taken: 2 });
  expect(await takeAtOnce(12, (i) => of(`c${i}`, '1', ''))).toEqual({ taken: 3, version: 9 });
  expect(await uploads().countDocuments()).toBe(8);
});

test('a place without a stored upload is free after a minute; a place with a stored upload is free when the upload ends', async () => {
  for (const id of ['a', 'b']) {
    expect(await places().take(of(id), most, nowMs)).toBeUndefined();
    await store(of(id));
  }
  expect(await places().take(of('c'), most, nowMs)).toBeUndefined();
  expect(await places().take(of('d'), most, nowMs + 59_999)).toEqual({
    ...{ full: 'version', firstEndMs: nowMs + 60_000 },
  });
  expect(await places().take(of('d'), most, nowMs + 60_000)).toBeUndefined();
  await store(of('d'));
  expect(await places().take(of('e'), most, nowMs + hourMs - 1)).toEqual({
    ...{ full: 'version', firstEndMs: nowMs + hourMs },
  });
  expect(await places().take(of('e'), most, nowMs + hourMs)).toBeUndefined();
});

test('a repeat keeps its place; an upload with an accepted file does not count for its developer', async () => {
  for (const version of ['1', '2', '3', '4', '5']) {
    for (let i = 0; i < 2; i += 1)
      expect(await places().take(of(version, version), most, nowMs)).toBeUndefined();
    await store(of(version, version));
  }
  expect(await places().take(of('5', '5'), most, nowMs)).toBeUndefined();
  expect((await places().take(of('6', '6'), most, nowMs))?.full).toBe('developer');
  await uploads().updateOne({ _id: '1' }, { $set: { settled: true } });
  expect(await places().take(of('6', '6'), most, nowMs)).toBeUndefined();
  const kept = bed.store.collection<PlacesDocument>(collections.uploadPlaces);
  expect((await kept.findOne({}))?.places.map(({ uploadId }) => uploadId)).toEqual(['6']);
});
