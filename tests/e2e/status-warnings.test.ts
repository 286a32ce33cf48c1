import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Stack, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { ctlWith } from './ctl.ts';

/** An unusable S3 is visible to operators, and makes no process unready. */
describe('an unusable storage is a warning of ctl status', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-warnings-'));
  let stack: Stack | undefined;
  let endpoint: string;
  let answer: RequestListener = () => {};
  const s3 = createServer((request, response) => answer(request, response));
  beforeAll(async () => {
    await new Promise<void>((resolve) => s3.listen(0, '127.0.0.1', resolve));
    endpoint = `http://127.0.0.1:${(s3.address() as AddressInfo).port}`;
    stack = await startStack({
      ...{ kind: 'embedded', dataDir: folder, clients: [{ clientId: 'own', clientSecret: 'x'.repeat(32) }] },
      env: {
        ...{ S3_BUCKET: 'packages', S3_ENDPOINT: endpoint, S3_REGION: 'eu-1' },
        ...{ AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', UPDATES_STORAGE_WATCH_MS: '100' },
      },
    });
  });
  afterAll(async () => {
    await stack?.stop();
    s3.closeAllConnections();
    s3.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const error = (code: string) => `<Error><Code>${code}</Code></Error>`;
  it.each<[string, RequestListener, string]>([
    ['hangs', () => {}, 'no answer to HeadBucket within 2500 ms'],
    ['has no such bucket', (_, response) => response.writeHead(404).end(), 'not found'],
    [
      'rejects the credentials',
      ({ method }, response) =>
        response.writeHead(403).end(method === 'HEAD' ? '' : error('InvalidAccessKeyId')),
      'it answers 403 (InvalidAccessKeyId)',
    ],
  ])('that %s', async (_, answers, reason) => {
    answer = answers;
    const url = stack?.admin.updates as unknown as string;
    const status = () => ctlWith({ ADMIN_URL: url }, '--json', 'status');
    // On a busy machine the first check may end before its answer is read.
    const said = await waitFor(`a warning that ${reason}`, async () => {
      const { exitCode, out } = await status();
      return exitCode === 5 && out.includes(reason) && out;
    });
    expect(JSON.parse(said).services[0]).toMatchObject({
      ready: true,
      warnings: [{ name: 'storage_unavailable', message: `bucket packages at ${endpoint}: ${reason}` }],
    });
    expect((await request(`${url}/readyz`)).statusCode).toBe(200);
  });
});
