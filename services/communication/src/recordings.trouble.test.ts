import { signaturesOf } from '@headset-cloud/demo/sora/storage.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { failures } from './domain/recording.ts';
import { archiveHash, multi, part, useStudio } from './testing/recordings.ts';
import type { Body } from './testing/world.ts';

const use = useStudio(multi);

describe('a storage in trouble', () => {
  const [unavailable, tooMany] = [{ status: 503 }, { status: 429 }];

  test.each([
    ['answers 503', unavailable],
    ['answers 429', tooMany],
    ['breaks off', 'cut' as const],
    ['gives no ETag', 'no-tag' as const],
  ])('that %s for a while is sent the part again', async (_, trouble) => {
    const recording = use.studio.recordParts(2);
    let left = 2;
    use.studio.storage.trouble = ({ partNumber }) => (partNumber === 2 && left-- > 0 ? trouble : undefined);
    expect(await use.studio.failure(recording)).not.toHaveProperty('message');
    expect(use.studio.world.asked).toHaveLength(1);
    const expected = trouble === 'no-tag' ? [1, 2, 2, 2] : [1, 2];
    expect(use.studio.numbers(recording.webmFiles[0])).toEqual(expected);
  });

  test('that hangs is aborted after a time-out and retried', async () => {
    let tries = 0;
    use.studio.storage.trouble = ({ partNumber }) => (partNumber === 1 && ++tries === 1 ? 'hang' : undefined);
    const recording = use.studio.recordParts(2);
    const failure = use.studio.failure(recording);
    await waitFor('the upload of the part', () => tries === 1);
    await use.studio.world.stallTime.advance(5000);
    expect(await failure).not.toHaveProperty('message');
    expect(tries).toBe(2);
    expect(use.studio.numbers(recording.webmFiles[0])).toEqual([1, 2]);
  });

  test('does not delay other applications', async () => {
    const { world, sora, storage } = use.studio;
    const { channelId } = await world.communication.createChannel({
      caller: { clientId: 'client', applicationId: 'other' },
    });
    const stuck = Array.from({ length: 4 }, () => use.studio.recordParts(1));
    const files = new Set(stuck.map(({ reportFile }) => reportFile));
    storage.trouble = ({ file }) => (files.has(file) ? 'hang' : undefined);
    for (const recording of stuck) await use.studio.sendWebhooks(recording);
    const others = sora.record([sora.join(channelId)]);
    await use.studio.sendWebhooks(others);
    expect((await use.studio.published(others)).body).toMatchObject({ applicationId: 'other' });
    for (const recording of stuck) expect(use.studio.numbers(recording.webmFiles[0])).toEqual([]);
  });

  test('that stays unavailable pauses the recording, which continues later without repeating a finished part', async () => {
    let away = true;
    use.studio.storage.trouble = ({ partNumber }) => (partNumber === 2 && away ? unavailable : undefined);
    const recording = use.studio.recordParts(3);
    await use.studio.sendWebhooks(recording);
    await waitFor('pauses', async () => {
      const [found] = (await use.studio.world.admin.listRecordings({})).recordings;
      use.studio.world.nowMs += 50;
      return (found?.attempts ?? 0) >= 3;
    });
    away = false;
    const ticking = use.studio.tick();
    expect((await use.studio.notification(recording)).body).not.toHaveProperty('message');
    clearInterval(ticking);
    expect(use.studio.numbers(recording.webmFiles[0])).toEqual([1, 2, 3]);
  });

  test('that stays unavailable for too long fails the recording', async () => {
    use.studio.storage.trouble = () => unavailable;
    const recording = use.studio.recordParts(1);
    await use.studio.sendWebhooks(recording);
    await waitFor('a first run', async () => (await use.studio.state(recording)) === 'uploading');
    use.studio.world.nowMs += 24 * 3_600_000 + 1000;
    const ticking = use.studio.tick();
    expect((await use.studio.notification(recording)).body.message).toBe(failures.signedUrls);
    clearInterval(ticking);
  });

  test('whose URLs have expired gets new URLs; finished files stay finished', async () => {
    const recording = use.studio.recordParts(3);
    let answers = 0;
    let uploaded = 0;
    use.studio.world.signedUrls = (body) => {
      const answer = use.studio.storage.sign(body);
      answers += 1;
      if (answers === 1) {
        use.studio.storage.trouble = ({ partNumber }) => {
          if (partNumber === 2)
            for (const signature of signaturesOf(answer)) use.studio.storage.expired.add(signature);
          uploaded += 1;
          return undefined;
        };
      }
      return answer;
    };
    const { channel } = await use.studio.failure(recording);
    expect(uploaded).toBeGreaterThan(0);
    // The new upload id starts with part 1 again, and the notification contains only its parts.
    expect(use.studio.numbers(recording.webmFiles[0])).toEqual([1, 1, 2, 3]);
    expect(use.studio.partsOf(recording.reportFile)).toHaveLength(1);
    const latest = use.studio.partsOf(recording.webmFiles[0]).slice(1);
    expect(channel.connections[0].webmFile).toMatchObject({
      uploadId: latest[0]?.uploadId,
      parts: latest.map(({ tag }) => tag),
    });
  });

  test('keeps the parts when the new URLs belong to the same upload', async () => {
    const recording = use.studio.recordParts(3);
    const [webm = ''] = recording.webmFiles;
    let first: Body;
    use.studio.world.signedUrls = (body) => {
      const answer: Body = use.studio.storage.sign(body);
      if (!first) {
        first = answer;
        use.studio.storage.trouble = ({ partNumber }) => {
          if (partNumber === 2)
            for (const signature of signaturesOf(first)) use.studio.storage.expired.add(signature);
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
    expect(await use.studio.failure(recording)).not.toHaveProperty('message');
    expect(use.studio.numbers(webm)).toEqual([1, 2, 3]);
  });

  test('that never accepts its URLs gets new URLs a limited number of times, then the recording fails', async () => {
    use.studio.storage.trouble = () => ({ status: 403 });
    expect((await use.studio.failure(use.studio.recordParts(1))).message).toBe(failures.signedUrls);
    expect(use.studio.world.asked).toHaveLength(3);
  });
});

describe('an archive in trouble', () => {
  test('whose connection breaks is read again, from the interrupted part', async () => {
    const recording = use.studio.recordParts(3);
    use.studio.storage.trouble = ({ partNumber }) => {
      if (partNumber === 1 && use.studio.sora.archives.reads.length < 8) use.studio.sora.archives.cuts = 1;
      return undefined;
    };
    expect(await use.studio.failure(recording)).not.toHaveProperty('message');
    const [webm = ''] = recording.webmFiles;
    expect(use.studio.partsOf(webm).map(({ sha256 }) => sha256)).toEqual([
      ...[archiveHash(webm, 0, part), archiveHash(webm, part, part), archiveHash(webm, 2 * part, 1)],
    ]);
  });

  test('that cannot return sizes for a while gets the request again later', async () => {
    use.studio.sora.archives.outages = 2;
    const recording = use.studio.recordParts(1);
    await use.studio.sendWebhooks(recording);
    const ticking = use.studio.tick();
    expect((await use.studio.notification(recording)).body).not.toHaveProperty('message');
    clearInterval(ticking);
  });
});
