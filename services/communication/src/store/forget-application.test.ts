import { onEmbedded, openTestBed, type TestBed } from '@headset-cloud/embedded/testing/bed.ts';
import {
  type ChannelDocument,
  channelsOfApplicationIndexes,
  collections,
  communicationIndexes,
  type EventDocument,
  type RecordingDocument,
} from './documents.ts';
import { createApplicationForgetStore } from './forget-application.ts';

let bed: TestBed;
beforeEach(() => {
  bed = openTestBed('communication');
});
afterEach(() => bed.remove());

onEmbedded('channels are found by the index of their application, and a call reads few events', async () => {
  const channels = bed.store.collection<ChannelDocument>(collections.channels);
  const events = bed.store.collection<EventDocument>(collections.events);
  const recordings = bed.store.collection<RecordingDocument>(collections.recordings);
  await channels.createIndexes([
    ...(communicationIndexes[collections.channels] ?? []),
    ...(channelsOfApplicationIndexes[collections.channels] ?? []),
  ]);
  await events.createIndexes(communicationIndexes[collections.events] ?? []);
  await recordings.createIndexes(communicationIndexes[collections.recordings] ?? []);
  const [createdAt, expiresAt] = [new Date(0), new Date(1e15)];
  const channel = (_id: string, applicationId: string) => ({
    ...{ _id, applicationId, endpointId: 'one', endpointUrl: '', eventSeq: 0, createdAt, expiresAt },
  });
  await channels.insertMany(Array.from({ length: 1000 }, (_, n) => channel(`other-${n}`, 'other')));
  await channels.insertMany(Array.from({ length: 3 }, (_, n) => channel(`own-${n}`, 'app')));
  await events.insertMany(
    Array.from({ length: 300 }, (_, n) => ({
      ...{ _id: `e${n}`, endpointId: 'one', channelId: 'own-1', applicationId: 'app', seq: n + 1 },
      ...{ arrivedAtMs: 1, body: '{}', expiresAt },
    })),
  );
  const store = createApplicationForgetStore({ channels, events, recordings });
  let [after, calls, most] = ['', 0, 0];
  do {
    const before = bed.documentsExamined();
    after = (await store.forget('app', after, false)).next;
    most = Math.max(most, bed.documentsExamined() - before);
    calls += 1;
  } while (after !== '');
  expect(calls).toBeGreaterThan(15);
  // The last call of a channel checks once whether one of its events is unprocessed.
  expect(most).toBeLessThan(350);
  expect(await channels.countDocuments({ applicationId: 'app' })).toBe(0);
});
