import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiClient, createApiClient } from '@headset-cloud/demo/api.ts';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { createAdmin, provisionApplication } from '@headset-cloud/demo/provision.ts';
import { type Stack, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { crashingAt } from '../faults/inside/environment.ts';
import { describeOnStack, ownBacking, stack as suiteStack } from './harness.ts';

const client = { clientId: 'crash', clientSecret: randomBytes(24).toString('hex') };
const name = 'com.example.crash';

describeOnStack('uploads and kill -9', () => {
  let folder: string;
  let stack: Stack;
  let api: ApiClient;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-crash-'));
    stack = await startStack({
      kind: suiteStack.kind,
      backing: await ownBacking(),
      dataDir: folder,
      clients: [client],
      env: { UPDATES_CHECK_LEASE_MS: '1000', UPDATES_SWEEP_INTERVAL_MS: '100' },
    });
    const applicationId = await provisionApplication(createAdmin(stack.admin), {
      ...{ developerId: 'crash', clientIds: [client.clientId], name: 'crash', activationLimit: 1 },
      deviceIds: [],
    });
    api = createApiClient({ apiUrl: stack.apiUrl, tokenUrl: stack.tokenUrl, applicationId, ...client });
  }, 180_000);
  afterAll(async () => {
    await api?.close();
    await stack?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  const listed = async (): Promise<string[]> => {
    const { status, body } = await api.app('GET', `/apps?package=${name}`);
    return status === 200 ? body.appVersions.map((v: { version: string }) => v.version) : [];
  };

  it.each([
    ['1', 'before store updates.packages.accepted'],
    ['2', 'after store updates.artifacts.updateOne'],
    ['4', 'after store updates.uploads.findOneAndUpdate'],
    // Only the platform's own storage passes this one.
    ...(suiteStack.kind === 'embedded' ? [['3', 'before store updates.uploads.findOneAndUpdate']] : []),
  ])(
    'version %s is deliverable once, although the process was killed %s',
    async (version, at) => {
      const process = stack.processes[suiteStack.oneProcess ? 'platform' : 'updates'];
      if (!process) throw new Error('the process is not there');
      await process.stop();
      process.start(crashingAt(at as string));
      await stack.ready();
      const apk = await makeApk({ package: name, versionName: version as string });
      const upload = { package: name, version, fileSize: apk.length };
      // The gateway may still wait before it tries the process again.
      const { body } = await waitFor('a 201', async () => {
        const answer = await api.app('POST', '/apps', upload);
        return answer.status === 201 && answer;
      });
      const { urlList } = body;
      await request(urlList[0].uploadUrl, {
        method: 'PUT',
        headers: { 'content-type': 'application/vnd.android.package-archive' },
        body: apk,
      }).then(
        (answer) => answer.body.dump(),
        () => undefined,
      );
      expect(await process.exited).toBe('SIGKILL');
      process.start();
      await stack.ready();
      await waitFor('the version', async () => (await listed()).filter((v) => v === version).length === 1, {
        intervalMs: 100,
      });
      const again = await api.app('POST', '/apps', upload);
      expect([again.status, again.body.appFileExists]).toEqual([201, true]);
    },
    120_000,
  );
});
