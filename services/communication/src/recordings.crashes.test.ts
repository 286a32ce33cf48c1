import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { jest } from '@jest/globals';
import { multi, openStudio, type Studio } from './testing/recordings.ts';
import type { Body } from './testing/world.ts';

// Each opens a store of its own on the disk and waits for what happens in the background.
jest.setTimeout(30_000);

let studio: Studio;
beforeEach(async () => {
  studio = await openStudio();
  studio.world.set.add(multi);
});
afterEach(() => studio.close());

describe.each([
  'communication.recording-planned',
  'communication.urls-stored',
  'communication.part-sent',
  'communication.part-stored',
  'communication.recording-ended',
  'communication.recording-published',
])('a crash at %s', (cutAt) => {
  test('is gone on from: one notification, and nothing sent again that was stored', async () => {
    const recording = studio.recordParts(3);
    const storedTags = async () => {
      const [document] = await studio.world.store.collection('recordings').find({}).toArray();
      return document?.['files'].find((file: Body) => file.splitted > 0)?.parts.length ?? 0;
    };
    studio.world.cutAt = cutAt;
    await studio.tell(recording);
    await waitFor('the cut', () => studio.world.cutAt === undefined);
    const known = await storedTags();
    await studio.world.restart();
    // The dead instance's claim runs out.
    studio.world.nowMs += 2000;
    const { body } = await studio.notification(recording);
    const webm = body.channel.connections[0].webmFile;
    expect(webm.parts).toHaveLength(3);
    const sent = studio.numbers(recording.webmFiles[0]);
    for (let n = 1; n <= known; n += 1) expect(sent.filter((one) => one === n)).toHaveLength(1);
    // A part that was sent and not yet noted may go twice, no other.
    expect(sent.length).toBeLessThanOrEqual(cutAt === 'communication.part-sent' ? 4 : 3);
    expect(studio.world.asked).toHaveLength(1);
  });
});

test('a crash after each single part: every part is sent once', async () => {
  const recording = studio.recordParts(4);
  await studio.tell(recording);
  for (let crash = 0; crash < 5; crash += 1) {
    studio.world.cutAt = 'communication.part-stored';
    await waitFor('the cut', () => studio.world.cutAt === undefined);
    await studio.world.restart();
    studio.world.nowMs += 2000;
  }
  await studio.notification(recording);
  expect(studio.numbers(recording.webmFiles[0])).toEqual([1, 2, 3, 4]);
  expect(studio.partsOf(recording.reportFile)).toHaveLength(1);
});

test('a stop hands the recording over at once', async () => {
  const recording = studio.recordParts(3);
  let hang = true;
  studio.storage.trouble = ({ partNumber }) => (partNumber === 2 && hang ? 'hang' : undefined);
  await studio.tell(recording);
  await waitFor('a first part to be noted', async () => {
    const [document] = await studio.world.store.collection('recordings').find({}).toArray();
    return document?.['files'].some(({ parts }: Body) => parts.length === 1);
  });
  hang = false;
  await studio.world.restart();
  await studio.notification(recording);
  expect(studio.numbers(recording.webmFiles[0])).toEqual([1, 2, 3]);
});

test('an instance whose claim ran out amid the work goes on with it, as nobody else has taken it', async () => {
  await studio.close();
  studio = await openStudio({ COMMUNICATION_RECORDINGS_AT_ONCE: 4 });
  studio.world.set.add(multi);
  const recording = studio.recordParts(3);
  const begun: number[] = [];
  studio.storage.trouble = ({ file, partNumber }) => {
    if (file === recording.webmFiles[0]) begun.push(partNumber);
    return partNumber === 2 ? 'drip' : undefined;
  };
  await studio.tell(recording);
  await waitFor('the slow part', () => begun.includes(2));
  // Far past the claim, while the search for recordings goes on.
  studio.world.nowMs += 100_000;
  await studio.notification(recording);
  expect(begun).toEqual([1, 2, 3]);
  expect(studio.numbers(recording.webmFiles[0])).toEqual([1, 2, 3]);
  expect(studio.world.asked).toHaveLength(1);
});

test('several instances share the work: no recording is uploaded by two', async () => {
  await studio.world.startAnother();
  const recordings = Array.from({ length: 6 }, () => studio.recordParts(1));
  for (const recording of recordings) await studio.tell(recording);
  for (const recording of recordings) await studio.notification(recording);
  for (const recording of recordings) expect(studio.numbers(recording.webmFiles[0])).toEqual([1]);
  expect(studio.world.asked).toHaveLength(6);
});
