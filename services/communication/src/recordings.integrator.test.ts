import type { SimulatedRecording } from '@headset-cloud/demo/sora/simulator.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { multi, useStudio } from './testing/recordings.ts';
import type { Body } from './testing/world.ts';

const use = useStudio(multi);

describe('any wrong answer of the integrator’s endpoint ends in the specified failure', () => {
  const expectFailure = async (recording: SimulatedRecording) => {
    expect((await use.studio.failure(recording)).message).toBe(
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
      'a part that is not a URL',
      (answer, webm) => {
        answer[webm].parts[1] = 7;
        return answer;
      },
    ],
  ])('%s', async (_, spoil) => {
    const recording = use.studio.recordParts(2);
    const [webm = ''] = recording.webmFiles;
    use.studio.world.signedUrls = (body) => spoil(use.studio.storage.sign(body), webm, recording.reportFile);
    await expectFailure(recording);
    expect(use.studio.world.asked).toHaveLength(1);
    expect(use.studio.storage.stored).toEqual([]);
  });

  test('no answer to any request', async () => {
    use.studio.world.signedUrls = () => Promise.reject(new DomainError('integrator_failed', 'no answer'));
    const ticking = use.studio.tick();
    await expectFailure(use.studio.recordParts(1));
    clearInterval(ticking);
    expect(use.studio.world.asked).toHaveLength(3);
  });

  test('URLs whose scheme is in capitals are valid', async () => {
    const recording = use.studio.recordParts(2);
    use.studio.world.signedUrls = (body) =>
      JSON.parse(JSON.stringify(use.studio.storage.sign(body)).replaceAll('"http://', '"HTTP://'));
    await use.studio.sendWebhooks(recording);
    expect((await use.studio.notification(recording)).body['message']).toBeUndefined();
  });

  test('an answer at the last attempt is accepted', async () => {
    let asked = 0;
    use.studio.world.signedUrls = (body) => {
      asked += 1;
      if (asked < 3) throw new DomainError('integrator_failed', 'no answer');
      return use.studio.storage.sign(body);
    };
    const ticking = use.studio.tick();
    expect(await use.studio.failure(use.studio.recordParts(1))).not.toHaveProperty('message');
    clearInterval(ticking);
  });

  test('a long outage of the platform itself does not count as a failure of the integrator', async () => {
    let asked = 0;
    use.studio.world.signedUrls = (body) => {
      asked += 1;
      if (asked < 6) throw new DomainError('unavailable', 'the notifier is unavailable');
      return use.studio.storage.sign(body);
    };
    const ticking = use.studio.tick();
    expect(await use.studio.failure(use.studio.recordParts(1))).not.toHaveProperty('message');
    clearInterval(ticking);
    expect(asked).toBe(6);
  });

  test('no authentication key was issued', async () => {
    use.studio.world.signedUrls = () => Promise.reject(new DomainError('destination_not_set', 'no key'));
    await expectFailure(use.studio.recordParts(1));
    expect(use.studio.world.asked).toHaveLength(1);
  });

  // protects against callbacks/ssrf-signed-urls
  test.each(['http://10.0.0.1/', 'http://169.254.169.254/latest', 'http://[::1]:9/'])(
    'a URL that points inside the network: %s',
    async (inside) => {
      const recording = use.studio.recordParts(1);
      use.studio.world.signedUrls = (body) => ({ ...storageSigns(body), [recording.reportFile]: inside });
      await expectFailure(recording);
      expect(use.studio.storage.stored).toEqual([]);
    },
  );
  const storageSigns = (body: Body) => use.studio.storage.sign(body);

  // protects against callbacks/ssrf-redirect
  test('redirects of a storage are not followed, and new URLs are requested a limited number of times', async () => {
    let followed = 0;
    use.studio.storage.trouble = ({ file }) => {
      if (file === 'elsewhere') followed += 1;
      return { status: 307, headers: { location: `${use.studio.storage.origin}/elsewhere` } };
    };
    await expectFailure(use.studio.recordParts(1));
    expect(use.studio.world.asked).toHaveLength(3);
    expect(followed).toBe(0);
  });
});
