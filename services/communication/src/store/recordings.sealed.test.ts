import { openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import { inspectSealed } from '@headset-cloud/rules/sealed/inspect.ts';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { SignedUrls } from '../domain/signed-urls.ts';
import { collections, type RecordingDocument } from './documents.ts';
import { createRecordingStore, sealedUrls } from './recordings.ts';

const former = 'a test secret of more than thirty-two characters';
const next = 'the next key of more than thirty-two characters';

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('communication', { onMongo: true });
});
afterEach(() => bed.remove());

test('the signed URLs of an unfinished recording are resealed, and then open without the former key', async () => {
  const documents = bed.store.collection<RecordingDocument>(collections.recordings);
  const store = createRecordingStore(documents, createSecretBox(former), 1000);
  const urls = { files: [{ url: 'https://storage.example.com/?signature=hush' }] } as unknown as SignedUrls;
  const claim = { recordingId: 'recording', claim: 'mine' };
  const of = { applicationId: 'app', channelId: 'channel', endpointId: 'endpoint', traceparent: '' };
  await store.addEvent({ recordingId: 'recording', reportFile: 'report', expected: null }, of, 0, 0);
  await store.claimDue(0, 1000, 'mine', { applicationIds: [], recordingIds: [] });
  expect(await store.issue(claim, urls, [])).toBe(true);

  const both = createSecretBox(next, [former]);
  expect(await inspectSealed(sealedUrls(documents), both, { reseal: async () => {} })).toMatchObject({
    moved: 1,
  });
  expect(await inspectSealed(sealedUrls(documents), both, { reseal: async () => {} })).toMatchObject({
    moved: 0,
  });
  expect(await createRecordingStore(documents, createSecretBox(next), 1000).urls('recording')).toEqual(urls);
});
