import { Destination } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { failures } from './domain/recording.ts';
import { archiveHash, multi, part, single, useStudio } from './testing/recordings.ts';
import { type Body, MiB } from './testing/world.ts';

const imei = '356938035643809';
const use = useStudio();

test('with the multipart setting: webm in parts with their tags in order, other files whole', async () => {
  // The smallest parts that storages accept.
  const part = 5 * MiB;
  await use.studio.world.restart({ COMMUNICATION_PART_BYTES: part });
  use.studio.world.set.add(single).add(multi);
  const recording = use.studio.record(2 * part + 1);
  await use.studio.sendWebhooks(recording);
  const sent = await use.studio.notification(recording);
  const connections = use.studio.connections.map(({ connectionId }, i) => ({
    connectionId,
    jsonFile: recording.jsonFiles[i],
    webmFile: { file: recording.webmFiles[i], splitted: 3 },
  }));
  const channel = { channelId: use.studio.channelId, metaFile: recording.reportFile, connections };
  expect(use.studio.world.asked).toEqual([{ setting: multi, body: { channel } }]);
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
            uploadId: use.studio.partsOf(connection.webmFile.file)[0]?.uploadId,
            parts: use.studio.partsOf(connection.webmFile.file).map(({ tag }) => tag),
          },
        })),
      },
    },
  });
  for (const file of recording.webmFiles) {
    expect(
      use.studio.partsOf(file).map(({ partNumber, bytes, sha256 }) => ({ partNumber, bytes, sha256 })),
    ).toEqual([
      { partNumber: 1, bytes: part, sha256: archiveHash(file, 0, part) },
      { partNumber: 2, bytes: part, sha256: archiveHash(file, part, part) },
      { partNumber: 3, bytes: 1, sha256: archiveHash(file, 2 * part, 1) },
    ]);
  }
  for (const [file, bytes] of [[recording.reportFile, 700], ...recording.jsonFiles.map((f) => [f, 300])]) {
    expect(use.studio.partsOf(file as string)).toMatchObject([
      { partNumber: 0, bytes, sha256: archiveHash(file as string, 0, bytes as number) },
    ]);
  }
  const bytes = BigInt(2 * (2 * part + 1) + 2 * 300 + 700);
  expect(await use.studio.world.admin.listRecordings({ applicationId: 'app' })).toMatchObject({
    recordings: [{ state: 'saved', message: '', uploadedBytes: bytes, totalBytes: bytes, attempts: 1 }],
  });
});

test('with the single-part setting: every file whole', async () => {
  use.studio.world.set.add(single);
  const recording = use.studio.record(part + 1);
  await use.studio.sendWebhooks(recording);
  const { body } = await use.studio.notification(recording);
  const channel = {
    channelId: use.studio.channelId,
    metaFile: recording.reportFile,
    connections: use.studio.connections.map(({ connectionId }, i) => ({
      ...{ connectionId, jsonFile: recording.jsonFiles[i], webmFile: recording.webmFiles[i] },
    })),
  };
  expect(use.studio.world.asked).toEqual([{ setting: single, body: { channel } }]);
  expect(body).toEqual({ applicationId: 'app', deviceId: null, timestamp: expect.any(Number), channel });
  const [webm = ''] = recording.webmFiles;
  expect(use.studio.partsOf(webm)).toMatchObject([{ partNumber: 0, sha256: archiveHash(webm, 0, part + 1) }]);
});

test.each([
  [1, 1],
  [part - 1, 1],
  [part, 1],
  [part + 1, 2],
  [2 * part, 2],
  [0, 1],
])('a webm of %i bytes has %i parts', async (bytes, parts) => {
  use.studio.world.set.add(multi);
  const recording = use.studio.sora.record(use.studio.connections.slice(0, 1), { webmBytes: bytes });
  const { channel } = await use.studio.failure(recording);
  expect(channel.connections[0].webmFile).toMatchObject({
    splitted: parts,
    parts: use.studio.partsOf(recording.webmFiles[0]).map(({ tag }) => tag),
  });
  expect(use.studio.partsOf(recording.webmFiles[0]).reduce((sum, one) => sum + one.bytes, 0)).toBe(bytes);
});

test('the one headset in a recording is its device', async () => {
  const { world, sora, channelId } = use.studio;
  world.set.add(single);
  world.associations.set(imei, 'app');
  const [headset, browser] = [sora.join(channelId, { deviceId: imei }), sora.join(channelId)];
  for (const connection of [headset, browser]) await sora.created(connection).send();
  const recording = sora.record([headset, browser]);
  expect((await use.studio.failure(recording)).deviceId).toBe(imei);
});

test('with neither setting the recording ends without a notification', async () => {
  const recording = use.studio.record();
  await use.studio.sendWebhooks(recording);
  await waitFor('the end', async () => (await use.studio.state(recording)) === 'failed');
  expect(use.studio.world.asked).toEqual([]);
  expect((await use.studio.world.callbacks()).filter(({ id }) => id.startsWith('recording-'))).toEqual([]);
  expect((await use.studio.world.admin.listRecordings({})).recordings[0]?.message).toBe(
    'Neither soraRecGetPresignedUrl nor soraRecGetMultiPresignedUrl is set.',
  );
});

describe('the events of a recording', () => {
  beforeEach(() => use.studio.world.set.add(single));

  test('may come in any order and twice: the recording is uploaded once, when it is complete', async () => {
    const recording = use.studio.record();
    const [a, b, report] = recording.webhooks;
    await report?.send();
    await b?.send();
    await b?.send();
    await waitFor('two events', async () => (await use.studio.world.callbacks()).length === 1);
    expect(await use.studio.state(recording)).toBe('waiting');
    await a?.send();
    await use.studio.notification(recording);
    await use.studio.sendWebhooks(recording);
    expect(use.studio.world.asked).toHaveLength(1);
    expect(use.studio.storage.stored).toHaveLength(5);
  });

  test('may be incomplete: after the wait the archives that the report names are used', async () => {
    const recording = use.studio.record();
    await recording.webhooks[0]?.send();
    await recording.webhooks[2]?.send();
    await waitFor('the report to be noted', async () => {
      const [document] = await use.studio.world.store.collection('recordings').find({}).toArray();
      return document?.['reportFile'] && document['archives'].length === 1;
    });
    use.studio.world.nowMs += 599_999;
    expect(use.studio.world.asked).toEqual([]);
    use.studio.world.nowMs += 10_000;
    const { body } = await use.studio.notification(recording);
    expect(body.channel.connections.map((one: Body) => one.webmFile)).toEqual(recording.webmFiles);
    expect(body).not.toHaveProperty('message');
  });

  /**
   * Resolves when this number of archives is stored and the recording waits, for the second time if its wait was over.
   */
  const waiting = async (archives: number) => {
    await waitFor('another wait', async () => {
      const [document] = await use.studio.world.store.collection('recordings').find({}).toArray();
      if (document?.['archives'].length !== archives || document['claim']) return false;
      return document['dueAtMs'] > use.studio.world.nowMs;
    });
  };

  test('of a participant who leaves hours before the end do not end the recording', async () => {
    const recording = use.studio.record();
    use.studio.sora.archives.remove(recording.reportFile);
    await recording.webhooks[0]?.send();
    for (let hour = 0; hour < 3; hour += 1) {
      await waiting(1);
      use.studio.world.nowMs += 3_600_000;
    }
    await waiting(1);
    expect(await use.studio.state(recording)).toBe('waiting');
    use.studio.sora.archives.add(recording.reportFile, 700);
    await recording.webhooks[1]?.send();
    await recording.webhooks[2]?.send();
    const { body } = await use.studio.notification(recording);
    expect(body.channel.connections.map((one: Body) => one.webmFile)).toEqual(recording.webmFiles);
    expect(body).not.toHaveProperty('message');
  });

  test('without the report’s event: the report in the archive shows the end, and the known archives are used', async () => {
    const recording = use.studio.record();
    await recording.webhooks[0]?.send();
    await recording.webhooks[1]?.send();
    await waiting(2);
    use.studio.world.nowMs += 600_001;
    await waiting(2);
    expect(use.studio.world.asked).toEqual([]);
    use.studio.world.nowMs += 30_001;
    const { body } = await use.studio.notification(recording);
    expect(body.channel.metaFile).toBe(recording.reportFile);
    expect(body).not.toHaveProperty('message');
  });

  test('without an end: the recording fails a day after the last event', async () => {
    const recording = use.studio.record();
    use.studio.sora.archives.remove(recording.reportFile);
    await recording.webhooks[0]?.send();
    await waiting(1);
    use.studio.world.nowMs += 24 * 3_600_000 + 1;
    const { body } = await use.studio.notification(recording);
    expect(body.message).toBe(failures.archive);
  });
});

describe('archive is not found.', () => {
  test.each([single, multi])('an archive that Sora lost, with %s', async (setting) => {
    use.studio.world.set.add(setting);
    const [lost] = use.studio.connections;
    const recording = use.studio.sora.record(use.studio.connections, { failed: lost ? [lost] : [] });
    const webm = (file: string | undefined) => (setting === single ? file : { file });
    expect(await use.studio.failure(recording)).toEqual({
      ...{ applicationId: 'app', deviceId: null, timestamp: expect.any(Number) },
      channel: {
        channelId: use.studio.channelId,
        metaFile: recording.reportFile,
        connections: use.studio.connections.map(({ connectionId }, i) => ({
          ...{ connectionId, jsonFile: recording.jsonFiles[i], webmFile: webm(recording.webmFiles[i]) },
        })),
      },
      message: 'archive is not found.',
    });
    expect(use.studio.world.asked).toEqual([]);
  });

  test('a file that is not in the archive', async () => {
    use.studio.world.set.add(single);
    const recording = use.studio.record();
    use.studio.sora.archives.remove(recording.jsonFiles[1] ?? '');
    expect((await use.studio.failure(recording)).message).toBe(failures.archive);
    expect(use.studio.storage.stored).toEqual([]);
  });

  test('a file that disappears during its upload', async () => {
    use.studio.world.set.add(single);
    const recording = use.studio.record();
    use.studio.world.signedUrls = (body) => {
      use.studio.sora.archives.remove(recording.webmFiles[1] ?? '');
      return use.studio.storage.sign(body);
    };
    expect((await use.studio.failure(recording)).message).toBe(failures.archive);
  });

  test('an endpoint without archives', async () => {
    use.studio.world.set.add(single);
    const recording = use.studio.record();
    await use.studio.world.admin.putEndpoint({
      endpoint: {
        ...{ endpointId: 'one', signalingUrl: 'wss://one.example.com/', soraVersion: '1.0' },
        ...{ connectionLimit: 10, archiveUrl: '' },
      },
    });
    expect((await use.studio.failure(recording)).message).toBe(failures.archive);
  });
});
