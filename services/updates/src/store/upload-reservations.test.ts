import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import type { UploadReservations } from '../ports/upload-reservations.ts';
import { collections, type ReservationsDocument, type UploadDocument } from './documents.ts';
import { createUploadReservations } from './upload-reservations.ts';
import { createUploadStore } from './uploads.ts';

const nowMs = 1_000_000_000;
const hourMs = 3_600_000;
const limits = { ofVersion: 3, ofDeveloper: 5 };

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('updates', { onMongo: true });
});
afterEach(() => bed.remove());

const uploads = () => bed.store.collection<UploadDocument>(collections.uploads);
const reservations = () =>
  createUploadReservations(bed.store.collection<ReservationsDocument>(collections.uploadPlaces), uploads());
const of = (uploadId: string, version = '1', developerId = 'dev') => ({
  ...{ uploadId, developerId, artifactId: developerId ? `software/a/${version}` : `firmware/${version}` },
});
const store = ({ uploadId, ...upload }: ReturnType<typeof of>) =>
  createUploadStore(uploads()).open(
    { id: uploadId, ...upload, sizeBytes: 1, expiresAtMs: nowMs + hourMs },
    nowMs,
  );

/** One instance per call, all at once. Each instance stores its upload if its reservation succeeds. */
async function reserveAtOnce(many: number, upload: (i: number) => ReturnType<typeof of>) {
  const one = async (i: number, its: UploadReservations) => {
    const refused = await its.reserve(upload(i), limits, nowMs);
    if (!refused) await store(upload(i));
    return refused?.full ?? 'taken';
  };
  const outcomes = await Promise.all(Array.from({ length: many }, (_, i) => one(i, reservations())));
  return Object.fromEntries(
    [...new Set(outcomes)]
      .sort()
      .map((kind) => [kind, outcomes.filter((outcome) => outcome === kind).length]),
  );
}

test('concurrent calls get exactly the free places of a version and of a developer', async () => {
  expect(await reserveAtOnce(12, (i) => of(`a${i}`))).toEqual({ taken: 3, version: 9 });
  expect(await reserveAtOnce(12, (i) => of(`b${i}`, `2.${i}`))).toEqual({ developer: 10, taken: 2 });
  expect(await reserveAtOnce(12, (i) => of(`c${i}`, '1', ''))).toEqual({ taken: 3, version: 9 });
  expect(await uploads().countDocuments()).toBe(8);
});

test('a place without a stored upload is free after a minute; a place with a stored upload is free when the upload ends', async () => {
  for (const id of ['a', 'b']) {
    expect(await reservations().reserve(of(id), limits, nowMs)).toBeUndefined();
    await store(of(id));
  }
  expect(await reservations().reserve(of('c'), limits, nowMs)).toBeUndefined();
  expect(await reservations().reserve(of('d'), limits, nowMs + 59_999)).toEqual({
    ...{ full: 'version', firstEndMs: nowMs + 60_000 },
  });
  expect(await reservations().reserve(of('d'), limits, nowMs + 60_000)).toBeUndefined();
  await store(of('d'));
  expect(await reservations().reserve(of('e'), limits, nowMs + hourMs - 1)).toEqual({
    ...{ full: 'version', firstEndMs: nowMs + hourMs },
  });
  expect(await reservations().reserve(of('e'), limits, nowMs + hourMs)).toBeUndefined();
});

test('a repeat keeps its place; an upload with an accepted file does not count for its developer', async () => {
  for (const version of ['1', '2', '3', '4', '5']) {
    for (let i = 0; i < 2; i += 1)
      expect(await reservations().reserve(of(version, version), limits, nowMs)).toBeUndefined();
    await store(of(version, version));
  }
  expect(await reservations().reserve(of('5', '5'), limits, nowMs)).toBeUndefined();
  expect((await reservations().reserve(of('6', '6'), limits, nowMs))?.full).toBe('developer');
  await uploads().updateOne({ _id: '1' }, { $set: { settled: true } });
  expect(await reservations().reserve(of('6', '6'), limits, nowMs)).toBeUndefined();
  const kept = bed.store.collection<ReservationsDocument>(collections.uploadPlaces);
  expect((await kept.findOne({}))?.places.map(({ uploadId }) => uploadId)).toEqual(['6']);
});
