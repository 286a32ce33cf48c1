import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { multi, useStudio } from './testing/recordings.ts';
import type { Body } from './testing/world.ts';

const use = useStudio(multi);

const partSent = 'before store communication.recordings.parts';
const partStored = 'after store communication.recordings.parts';

describe.each([
  'after store communication.recordings.partBytes 2',
  'after store communication.recordings.urls',
  partSent,
  partStored,
  'after store communication.recordings.endedAtMs 2',
  'before store communication.recordings.expiresAt',
])('a crash %s', (cutAt) => {
  test('is followed by another run: one notification, and no stored part is sent again', async () => {
    const recording = use.studio.recordParts(3);
    const storedTags = async () => {
      const [document] = await use.studio.world.store.collection('recordings').find({}).toArray();
      return document?.['files'].find((file: Body) => file.splitted > 0)?.parts.length ?? 0;
    };
    use.studio.world.cutAt = cutAt;
    await use.studio.sendWebhooks(recording);
    await waitFor('the cut', () => use.studio.world.cutAt === undefined);
    const known = await storedTags();
    await use.studio.world.restart();
    // The dead instance's claim expires.
    use.studio.world.nowMs += 2000;
    const { body } = await use.studio.notification(recording);
    const webm = body.channel.connections[0].webmFile;
    expect(webm.parts).toHaveLength(3);
    const sent = use.studio.numbers(recording.webmFiles[0]);
    for (let n = 1; n <= known; n += 1) expect(sent.filter((one) => one === n)).toHaveLength(1);
    // Only a part that was sent and not yet stored as sent may be sent twice.
    expect(sent.length).toBeLessThanOrEqual(cutAt === partSent ? 4 : 3);
    expect(use.studio.world.asked).toHaveLength(1);
  });
});

test('an instance that dies with a clock two hours ahead does not block its recording', async () => {
  const recording = use.studio.recordParts(2);
  use.studio.world.nowMs += 7_200_000;
  use.studio.world.cutAt = partStored;
  await use.studio.sendWebhooks(recording);
  await waitFor('the cut', () => use.studio.world.cutAt === undefined);
  await use.studio.world.restart();
  use.studio.world.nowMs -= 7_200_000;
  const { body } = await use.studio.notification(recording);
  expect(body.channel.connections[0].webmFile.parts).toHaveLength(2);
});

test('a crash after each single part: every part is sent once', async () => {
  const recording = use.studio.recordParts(4);
  await use.studio.sendWebhooks(recording);
  for (let crash = 0; crash < 4; crash += 1) {
    use.studio.world.cutAt = partStored;
    await waitFor('the cut', () => use.studio.world.cutAt === undefined);
    await use.studio.world.restart();
    use.studio.world.nowMs += 2000;
  }
  await use.studio.notification(recording);
  expect(use.studio.numbers(recording.webmFiles[0])).toEqual([1, 2, 3, 4]);
  expect(use.studio.partsOf(recording.reportFile)).toHaveLength(1);
});

test('a stop releases the recording at once', async () => {
  const recording = use.studio.recordParts(3);
  let hanging = 0;
  use.studio.storage.trouble = ({ partNumber }) => {
    if (partNumber !== 2 || hanging > 0) return undefined;
    hanging += 1;
    return 'hang';
  };
  await use.studio.sendWebhooks(recording);
  // The first part is stored as sent by then, because parts are sent one after the other.
  await waitFor('the second part to hang', () => hanging > 0);
  await use.studio.world.restart();
  await use.studio.notification(recording);
  expect(use.studio.numbers(recording.webmFiles[0])).toEqual([1, 2, 3]);
});

test('an instance whose claim expired during the work continues, because no other instance has claimed it', async () => {
  await use.studio.world.restart({ COMMUNICATION_RECORDINGS_AT_ONCE: 4 });
  const recording = use.studio.recordParts(3);
  const begun: number[] = [];
  use.studio.storage.trouble = ({ file, partNumber }) => {
    if (file === recording.webmFiles[0]) begun.push(partNumber);
    return partNumber === 2 ? 'drip' : undefined;
  };
  await use.studio.sendWebhooks(recording);
  await waitFor('the slow part', () => begun.includes(2));
  // Long after the end of the claim, while the search for recordings continues.
  use.studio.world.nowMs += 100_000;
  await use.studio.notification(recording);
  expect(begun).toEqual([1, 2, 3]);
  expect(use.studio.numbers(recording.webmFiles[0])).toEqual([1, 2, 3]);
  expect(use.studio.world.asked).toHaveLength(1);
});

test('several instances share the work: no recording is uploaded twice', async () => {
  await use.studio.world.startAnother();
  const recordings = Array.from({ length: 6 }, () => use.studio.recordParts(1));
  for (const recording of recordings) await use.studio.sendWebhooks(recording);
  for (const recording of recordings) await use.studio.notification(recording);
  for (const recording of recordings) expect(use.studio.numbers(recording.webmFiles[0])).toEqual([1]);
  expect(use.studio.world.asked).toHaveLength(6);
});
