import { DomainError } from '@headset-cloud/kit/errors.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { Destination } from '@headset-cloud/proto/headset/notifier/v1/events_pb.ts';
import type { SimulatedRecording } from '@headset-cloud/tests/support/sora/simulator.ts';
import { signaturesOf } from '@headset-cloud/tests/support/sora/storage.ts';
import { jest } from '@jest/globals';
import { failures } from './domain/recording.ts';
import { archiveHash, openStudio, type Studio } from './testing/recordings.ts';
import { type Body, MiB } from './testing/world.ts';

// Each opens a store of its own on the disk and waits for what happens in the background.
jest.setTimeout(30_000);

const single = 'soraRecGetPresignedUrl';
const multi = 'soraRecGetMultiPresignedUrl';
const part = 5 * MiB;
const imei = '356938035643809';
let studio: Studio;
beforeEach(async () => {
  studio = await openStudio();
});
afterEach(() => studio.close());

const record = (webmBytes = 1000): SimulatedRecording =>
  studio.sora.record(studio.connections, { webmBytes });
/** A recording of one connection in `parts` parts, the last of one byte. */
const recordParts = (parts: number): SimulatedRecording =>
  studio.sora.record(studio.connections.slice(0, 1), { webmBytes: (parts - 1) * part + 1 });
/** Parts stored for a file, in their order, repeats included. */
const partsOf = (file: string | undefined) => studio.storage.stored.filter((one) => one.file === file);
const numbers = (file: string | undefined) => partsOf(file).map(({ partNumber }) => partNumber);

/** Time goes by, so that what has paused goes on. */
const tick = () =>
  setInterval(() => {
    studio.world.nowMs += 50;
  }, 10);

async function failure(recording: SimulatedRecording): Promise<Body> {
  await studio.tell(recording);
  return (await studio.notification(recording)).body;
}

test('with the multipart setting: files whole, webm in parts, the tags in their order', async () => {
  studio.world.set.add(single).add(multi);
  const recording = record(2 * part + 1);
  await studio.tell(recording);
  const sent = await studio.notification(recording);
  const connections = studio.connections.map(({ connectionId }, i) => ({
    connectionId,
    jsonFile: recording.jsonFiles[i],
    webmFile: { file: recording.webmFiles[i], splitted: 3 },
  }));
  const channel = { channelId: studio.channelId, metaFile: recording.reportFile, connections };
  expect(studio.world.asked).toEqual([{ setting: multi, body: { channel } }]);
  expect(sent).toEqual({
    id: `recording-${recording.recordingId}`,
    applicationId: 'app',
    destination: Destination.SORA_FILE_SEND_EVENT,
    orderKey: '',
    sequence: 0,
    body: {
      applicationId: 'app',
      deviceId: null,
      timestamp: expect.any(Number),
      channel: {
        ...channel,
        connections: connections.map((connection) => ({
          ...connection,
          webmFile: {
            ...connection.webmFile,
            uploadId: partsOf(connection.webmFile.file)[0]?.uploadId,
            parts: partsOf(connection.webmFile.file).map(({ tag }) => tag),
          },
        })),
      },
    },
  });
  for (const file of recording.webmFiles) {
    expect(partsOf(file).map(({ partNumber, bytes, sha256 }) => ({ partNumber, bytes, sha256 }))).toEqual([
      { partNumber: 1, bytes: part, sha256: archiveHash(file, 0, part) },
      { partNumber: 2, bytes: part, sha256: archiveHash(file, part, part) },
      { partNumber: 3, bytes: 1, sha256: archiveHash(file, 2 * part, 1) },
    ]);
  }
  for (const [file, bytes] of [[recording.reportFile, 700], ...recording.jsonFiles.map((f) => [f, 300])]) {
    expect(partsOf(file as string)).toMatchObject([
      { partNumber: 0, bytes, sha256: archiveHash(file as string, 0, bytes as number) },
    ]);
  }
  const bytes = BigInt(2 * (2 * part + 1) + 2 * 300 + 700);
  expect(await studio.world.admin.listRecordings({ applicationId: 'app' })).toMatchObject({
    recordings: [{ state: 'saved', message: '', uploadedBytes: bytes, totalBytes: bytes, attempts: 1 }],
  });
});

test('with the single-part setting: every file whole', async () => {
  studio.world.set.add(single);
  const recording = record(part + 1);
  await studio.tell(recording);
  const { body } = await studio.notification(recording);
  const channel = {
    channelId: studio.channelId,
    metaFile: recording.reportFile,
    connections: studio.connections.map(({ connectionId }, i) => ({
      ...{ connectionId, jsonFile: recording.jsonFiles[i], webmFile: recording.webmFiles[i] },
    })),
  };
  expect(studio.world.asked).toEqual([{ setting: single, body: { channel } }]);
  expect(body).toEqual({ applicationId: 'app', deviceId: null, timestamp: expect.any(Number), channel });
  const [webm = ''] = recording.webmFiles;
  expect(partsOf(webm)).toMatchObject([{ partNumber: 0, sha256: archiveHash(webm, 0, part + 1) }]);
});

test.each([
  [1, 1],
  [part - 1, 1],
  [part, 1],
  [part + 1, 2],
  [2 * part, 2],
  [0, 1],
])('a webm of %i bytes has %i parts', async (bytes, parts) => {
  studio.world.set.add(multi);
  const recording = studio.sora.record(studio.connections.slice(0, 1), { webmBytes: bytes });
  const { channel } = await failure(recording);
  expect(channel.connections[0].webmFile).toMatchObject({
    splitted: parts,
    parts: partsOf(recording.webmFiles[0]).map(({ tag }) => tag),
  });
  expect(partsOf(recording.webmFiles[0]).reduce((sum, one) => sum + one.bytes, 0)).toBe(bytes);
});

test('the one headset in a recording is its device', async () => {
  const { world, sora, channelId } = studio;
  world.set.add(single);
  world.associations.set(imei, 'app');
  const [headset, browser] = [sora.join(channelId, { deviceId: imei }), sora.join(channelId)];
  for (const connection of [headset, browser]) await sora.created(connection).send();
  const recording = sora.record([headset, browser]);
  expect((await failure(recording)).deviceId).toBe(imei);
});

test('with neither setting the recording ends untold', async () => {
  const recording = record();
  await studio.tell(recording);
  await waitFor('the end', async () => (await studio.state(recording)) === 'failed');
  expect(studio.world.asked).toEqual([]);
  expect((await studio.world.callbacks()).filter(({ id }) => id.startsWith('recording-'))).toEqual([]);
  expect((await studio.world.admin.listRecordings({})).recordings[0]?.message).toBe(
    'Neither soraRecGetPresignedUrl nor soraRecGetMultiPresignedUrl is set.',
  );
});

describe('the news of a recording', () => {
  beforeEach(() => studio.world.set.add(single));

  test('may come in any order and twice: it is uploaded once, when all of it is known', async () => {
    const recording = record();
    const [a, b, report] = recording.webhooks;
    await report?.send();
    await b?.send();
    await b?.send();
    await waitFor('two events', async () => (await studio.world.callbacks()).length === 1);
    expect(await studio.state(recording)).toBe('waiting');
    await a?.send();
    await studio.notification(recording);
    await studio.tell(recording);
    expect(studio.world.asked).toHaveLength(1);
    expect(studio.storage.stored).toHaveLength(5);
  });

  test('that never completes is waited for, then the report alone says what there is', async () => {
    const recording = record();
    await recording.webhooks[0]?.send();
    await recording.webhooks[2]?.send();
    await waitFor('the report to be noted', async () => {
      const [document] = await studio.world.store.collection('recordings').find({}).toArray();
      return document?.['reportFile'] && document['archives'].length === 1;
    });
    studio.world.nowMs += 599_999;
    expect(studio.world.asked).toEqual([]);
    studio.world.nowMs += 10_000;
    const { body } = await studio.notification(recording);
    expect(body.channel.connections.map((one: Body) => one.webmFile)).toEqual(recording.webmFiles);
    expect(body).not.toHaveProperty('message');
  });
});

describe('archive is not found.', () => {
  test.each([single, multi])('an archive that Sora lost, with %s', async (setting) => {
    studio.world.set.add(setting);
    const [lost] = studio.connections;
    const recording = studio.sora.record(studio.connections, { failed: lost ? [lost] : [] });
    const webm = (file: string | undefined) => (setting === single ? file : { file });
    expect(await failure(recording)).toEqual({
      ...{ applicationId: 'app', deviceId: null, timestamp: expect.any(Number) },
      channel: {
        channelId: studio.channelId,
        metaFile: recording.reportFile,
        connections: studio.connections.map(({ connectionId }, i) => ({
          ...{ connectionId, jsonFile: recording.jsonFiles[i], webmFile: webm(recording.webmFiles[i]) },
        })),
      },
      message: 'archive is not found.',
    });
    expect(studio.world.asked).toEqual([]);
  });

  test('a file that is not in the archive', async () => {
    studio.world.set.add(single);
    const recording = record();
    studio.sora.archives.remove(recording.jsonFiles[1] ?? '');
    expect((await failure(recording)).message).toBe(failures.archive);
    expect(studio.storage.stored).toEqual([]);
  });

  test('a file that goes while it is uploaded', async () => {
    studio.world.set.add(single);
    const recording = record();
    studio.world.signedUrls = (body) => {
      studio.sora.archives.remove(recording.webmFiles[1] ?? '');
      return studio.storage.sign(body);
    };
    expect((await failure(recording)).message).toBe(failures.archive);
  });

  test('an endpoint that keeps none', async () => {
    studio.world.set.add(single);
    const recording = record();
    await studio.world.admin.putEndpoint({
      endpoint: {
        ...{ endpointId: 'one', signalingUrl: 'wss://one.example.com/', soraVersion: '1.0' },
        ...{ connectionLimit: 10, archiveUrl: '' },
      },
    });
    expect((await failure(recording)).message).toBe(failures.archive);
  });
});

describe('the integrator’s endpoint is a stranger; the failure is the specified one', () => {
  beforeEach(() => studio.world.set.add(multi));
  const expectFailure = async (recording: SimulatedRecording) => {
    expect((await failure(recording)).message).toBe(
      'soraRecGetPresignedUrl or soraRecGetMultiPresignedUrl is failed.',
    );
  };

  test.each<[string, (answer: Body, webm: string, meta: string) => unknown]>([
    ['an array', (answer) => [answer]],
    ['a file missing', (answer, _, meta) => ({ ...answer, [meta]: undefined })],
    ['no URL', (answer, _, meta) => ({ ...answer, [meta]: 'ftp://example.com/' })],
    ['one URL for a multipart file', (answer, webm) => ({ ...answer, [webm]: 'https://example.com/' })],
    ['no uploadId', (answer, webm) => ({ ...answer, [webm]: { parts: answer[webm].parts } })],
    [
      'a part too few',
      (answer, webm) => {
        answer[webm].parts.pop();
        return answer;
      },
    ],
    [
      'a part too many',
      (answer, webm) => {
        answer[webm].parts.push(answer[webm].parts[0]);
        return answer;
      },
    ],
    [
      'a part that is no URL',
      (answer, webm) => {
        answer[webm].parts[1] = 7;
        return answer;
      },
    ],
  ])('%s', async (_, spoil) => {
    const recording = recordParts(2);
    const [webm = ''] = recording.webmFiles;
    studio.world.signedUrls = (body) => spoil(studio.storage.sign(body), webm, recording.reportFile);
    await expectFailure(recording);
    expect(studio.world.asked).toHaveLength(1);
    expect(studio.storage.stored).toEqual([]);
  });

  test('no answer, each time it is asked', async () => {
    studio.world.signedUrls = () => Promise.reject(new DomainError('integrator_failed', 'no answer'));
    const ticking = tick();
    await expectFailure(recordParts(1));
    clearInterval(ticking);
    expect(studio.world.asked).toHaveLength(3);
  });

  test('an answer at the last attempt is as good as at the first', async () => {
    let asked = 0;
    studio.world.signedUrls = (body) => {
      asked += 1;
      if (asked < 3) throw new DomainError('integrator_failed', 'no answer');
      return studio.storage.sign(body);
    };
    const ticking = tick();
    expect(await failure(recordParts(1))).not.toHaveProperty('message');
    clearInterval(ticking);
  });

  test('a part of the platform that is away for long is no failure of the integrator', async () => {
    let asked = 0;
    studio.world.signedUrls = (body) => {
      asked += 1;
      if (asked < 6) throw new DomainError('unavailable', 'the notifier is away');
      return studio.storage.sign(body);
    };
    const ticking = tick();
    expect(await failure(recordParts(1))).not.toHaveProperty('message');
    clearInterval(ticking);
    expect(asked).toBe(6);
  });

  test('no authentication key was issued', async () => {
    studio.world.signedUrls = () => Promise.reject(new DomainError('destination_not_set', 'no key'));
    await expectFailure(recordParts(1));
    expect(studio.world.asked).toHaveLength(1);
  });

  test.each(['http://10.0.0.1/', 'http://169.254.169.254/latest', 'http://[::1]:9/'])(
    'a URL that points inside the network: %s',
    async (inside) => {
      const recording = recordParts(1);
      studio.world.signedUrls = (body) => ({ ...storageSigns(body), [recording.reportFile]: inside });
      await expectFailure(recording);
      expect(studio.storage.stored).toEqual([]);
    },
  );
  const storageSigns = (body: Body) => studio.storage.sign(body);

  test('a storage that redirects is not followed, and asked for again a bounded number of times', async () => {
    let followed = 0;
    studio.storage.trouble = ({ file }) => {
      if (file === 'elsewhere') followed += 1;
      return { status: 307, headers: { location: `${studio.storage.origin}/elsewhere` } };
    };
    await expectFailure(recordParts(1));
    expect(studio.world.asked).toHaveLength(3);
    expect(followed).toBe(0);
  });
});

describe('a storage in trouble', () => {
  beforeEach(() => studio.world.set.add(multi));
  const [unavailable, tooMany] = [{ status: 503 }, { status: 429 }];

  test.each([
    ['answers 503', unavailable],
    ['answers 429', tooMany],
    ['breaks off', 'cut' as const],
    ['gives no ETag', 'no-tag' as const],
  ])('that %s for a while gets the part again', async (_, trouble) => {
    const recording = recordParts(2);
    let left = 2;
    studio.storage.trouble = ({ partNumber }) => (partNumber === 2 && left-- > 0 ? trouble : undefined);
    expect(await failure(recording)).not.toHaveProperty('message');
    expect(studio.world.asked).toHaveLength(1);
    const expected = trouble === 'no-tag' ? [1, 2, 2, 2] : [1, 2];
    expect(numbers(recording.webmFiles[0])).toEqual(expected);
  });

  test('that hangs is given up after a while and tried again', async () => {
    await studio.world.restart({ COMMUNICATION_UPLOAD_STALL_MS: 200 });
    let left = 1;
    studio.storage.trouble = ({ partNumber }) => (partNumber === 1 && left-- > 0 ? 'hang' : undefined);
    const recording = recordParts(2);
    expect(await failure(recording)).not.toHaveProperty('message');
    expect(numbers(recording.webmFiles[0])).toEqual([1, 2]);
  });

  test('that lets bytes drip is given up, too', async () => {
    const fast = { COMMUNICATION_UPLOAD_STALL_MS: 1000, COMMUNICATION_UPLOAD_MIN_RATE: 100 * MiB };
    await studio.world.restart(fast);
    let attempts = 0;
    studio.storage.trouble = ({ partNumber }) => (partNumber === 1 && ++attempts === 1 ? 'drip' : undefined);
    const recording = recordParts(2);
    expect(await failure(recording)).not.toHaveProperty('message');
    expect(attempts).toBe(2);
    expect(numbers(recording.webmFiles[0])).toEqual([1, 2]);
  });

  test('holds up no other application', async () => {
    const { world, sora, storage } = studio;
    const { channelId } = await world.communication.createChannel({
      caller: { clientId: 'client', applicationId: 'other' },
    });
    const stuck = Array.from({ length: 4 }, () => recordParts(1));
    const files = new Set(stuck.map(({ reportFile }) => reportFile));
    storage.trouble = ({ file }) => (files.has(file) ? 'hang' : undefined);
    for (const recording of stuck) await studio.tell(recording);
    const others = sora.record([sora.join(channelId)]);
    await studio.tell(others);
    expect((await studio.told(others)).body).toMatchObject({ applicationId: 'other' });
    for (const recording of stuck) expect(numbers(recording.webmFiles[0])).toEqual([]);
  });

  test('that stays away makes the recording pause and go on later, no finished part sent again', async () => {
    let away = true;
    studio.storage.trouble = ({ partNumber }) => (partNumber === 2 && away ? unavailable : undefined);
    const recording = recordParts(3);
    await studio.tell(recording);
    await waitFor('pauses', async () => {
      const [found] = (await studio.world.admin.listRecordings({})).recordings;
      studio.world.nowMs += 50;
      return (found?.attempts ?? 0) >= 3;
    });
    away = false;
    const ticking = tick();
    expect((await studio.notification(recording)).body).not.toHaveProperty('message');
    clearInterval(ticking);
    expect(numbers(recording.webmFiles[0])).toEqual([1, 2, 3]);
  });

  test('that stays away for too long has failed', async () => {
    studio.storage.trouble = () => unavailable;
    const recording = recordParts(1);
    await studio.tell(recording);
    await waitFor('a first run', async () => (await studio.state(recording)) === 'uploading');
    studio.world.nowMs += 24 * 3_600_000 + 1000;
    const ticking = tick();
    expect((await studio.notification(recording)).body.message).toBe(failures.signedUrls);
    clearInterval(ticking);
  });

  test('that lets URLs expire gets new ones; files that are finished stay finished', async () => {
    const recording = recordParts(3);
    let answers = 0;
    let uploaded = 0;
    studio.world.signedUrls = (body) => {
      const answer = studio.storage.sign(body);
      answers += 1;
      if (answers === 1) {
        studio.storage.trouble = ({ partNumber }) => {
          if (partNumber === 2)
            for (const signature of signaturesOf(answer)) studio.storage.expired.add(signature);
          uploaded += 1;
          return undefined;
        };
      }
      return answer;
    };
    const { channel } = await failure(recording);
    expect(uploaded).toBeGreaterThan(0);
    // A new upload id: its parts begin anew, and only they are in the notification.
    expect(numbers(recording.webmFiles[0])).toEqual([1, 1, 2, 3]);
    expect(partsOf(recording.reportFile)).toHaveLength(1);
    const latest = partsOf(recording.webmFiles[0]).slice(1);
    expect(channel.connections[0].webmFile).toMatchObject({
      uploadId: latest[0]?.uploadId,
      parts: latest.map(({ tag }) => tag),
    });
  });

  test('keeps the parts when the new URLs are of the same upload', async () => {
    const recording = recordParts(3);
    const [webm = ''] = recording.webmFiles;
    let first: Body;
    studio.world.signedUrls = (body) => {
      const answer: Body = studio.storage.sign(body);
      if (!first) {
        first = answer;
        studio.storage.trouble = ({ partNumber }) => {
          if (partNumber === 2)
            for (const signature of signaturesOf(first)) studio.storage.expired.add(signature);
          return undefined;
        };
        return answer;
      }
      const { uploadId } = first[webm];
      const parts = answer[webm].parts.map((url: string) =>
        url.replace(/uploadId=[^&]*/, `uploadId=${uploadId}`),
      );
      return { ...answer, [webm]: { uploadId, parts } };
    };
    expect(await failure(recording)).not.toHaveProperty('message');
    expect(numbers(webm)).toEqual([1, 2, 3]);
  });

  test('never takes its URLs: asked anew a bounded number of times, then failed', async () => {
    studio.storage.trouble = () => ({ status: 403 });
    expect((await failure(recordParts(1))).message).toBe(failures.signedUrls);
    expect(studio.world.asked).toHaveLength(3);
  });
});

describe('an archive in trouble', () => {
  beforeEach(() => studio.world.set.add(multi));

  test('that breaks off is read again, from the part that was cut', async () => {
    const recording = recordParts(3);
    studio.storage.trouble = ({ partNumber }) => {
      if (partNumber === 1 && studio.sora.archives.reads.length < 8) studio.sora.archives.cuts = 1;
      return undefined;
    };
    expect(await failure(recording)).not.toHaveProperty('message');
    const [webm = ''] = recording.webmFiles;
    expect(partsOf(webm).map(({ sha256 }) => sha256)).toEqual([
      ...[archiveHash(webm, 0, part), archiveHash(webm, part, part), archiveHash(webm, 2 * part, 1)],
    ]);
  });

  test('that cannot tell sizes for a while is asked later', async () => {
    studio.sora.archives.outages = 2;
    const recording = recordParts(1);
    await studio.tell(recording);
    const ticking = tick();
    expect((await studio.notification(recording)).body).not.toHaveProperty('message');
    clearInterval(ticking);
  });
});

describe.each([
  'communication.recording-planned',
  'communication.urls-stored',
  'communication.part-sent',
  'communication.part-stored',
  'communication.recording-ended',
  'communication.recording-published',
])('a crash at %s', (cutAt) => {
  test('is gone on from: one notification, and nothing sent again that was stored', async () => {
    studio.world.set.add(multi);
    const recording = recordParts(3);
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
    const sent = numbers(recording.webmFiles[0]);
    for (let n = 1; n <= known; n += 1) expect(sent.filter((one) => one === n)).toHaveLength(1);
    // A part that was sent and not yet noted may go twice, no other.
    expect(sent.length).toBeLessThanOrEqual(cutAt === 'communication.part-sent' ? 4 : 3);
    expect(studio.world.asked).toHaveLength(1);
  });
});

test('a crash after each single part: every part is sent once', async () => {
  studio.world.set.add(multi);
  const recording = recordParts(4);
  await studio.tell(recording);
  for (let crash = 0; crash < 5; crash += 1) {
    studio.world.cutAt = 'communication.part-stored';
    await waitFor('the cut', () => studio.world.cutAt === undefined);
    await studio.world.restart();
    studio.world.nowMs += 2000;
  }
  await studio.notification(recording);
  expect(numbers(recording.webmFiles[0])).toEqual([1, 2, 3, 4]);
  expect(partsOf(recording.reportFile)).toHaveLength(1);
});

test('a stop hands the recording over at once', async () => {
  studio.world.set.add(multi);
  const recording = recordParts(3);
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
  expect(numbers(recording.webmFiles[0])).toEqual([1, 2, 3]);
});

test('several instances share the work: no recording is uploaded by two', async () => {
  studio.world.set.add(multi);
  await studio.world.startAnother();
  const recordings = Array.from({ length: 6 }, () => recordParts(1));
  for (const recording of recordings) await studio.tell(recording);
  for (const recording of recordings) await studio.notification(recording);
  for (const recording of recordings) expect(numbers(recording.webmFiles[0])).toEqual([1]);
  expect(studio.world.asked).toHaveLength(6);
});
