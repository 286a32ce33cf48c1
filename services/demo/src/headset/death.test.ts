import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deviceId, offer, World } from '@headset-cloud/device-link/testing/world.ts';
import { HeldState } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { deathPoints } from './behaviour.ts';
import { fillCompileCache, startHeadsetProcess } from './testing/headset-process.ts';

let world: World;
let directory: string;
let child: ChildProcess | undefined;

beforeAll(fillCompileCache);
beforeEach(() => {
  world = new World();
  directory = mkdtempSync(join(tmpdir(), 'headset-death-'));
  writeFileSync(
    join(directory, 'key.json'),
    JSON.stringify({
      deviceId,
      keyId: 'k1',
      privateKeyPem: world.privateKey(deviceId).export({ type: 'pkcs8', format: 'pem' }),
    }),
  );
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await world.close();
  rmSync(directory, { recursive: true, force: true });
});

function run(port: number, ...more: string[]): ChildProcess {
  child = startHeadsetProcess([
    ...['--server', `127.0.0.1:${port}`, '--key-file', join(directory, 'key.json')],
    ...['--state', join(directory, 'state'), '--quiet', ...more],
  ]);
  return child;
}

const lines = (file: string) =>
  readFileSync(join(directory, 'state', `${deviceId}.${file}.jsonl`), 'utf8')
    .trim()
    .split('\n');

describe('a headset that is killed', () => {
  it.each(deathPoints)(
    'at the point "%s" has, after its restart, one effect and a reported result',
    async (point) => {
      // Like the platform: wait for the report of a finished transaction, and offer every other transaction again.
      let over = false;
      world.onOnline = async ({ held }) => ({
        offers: over || held.some((h) => h.state === HeldState.FINISHED) ? [] : [offer(1)],
      });
      const instance = await world.start();
      const [, signal] = await once(run(instance.service.linkPort(), '--die', point), 'exit');
      expect(signal).toBe('SIGKILL');
      const survivor = run(instance.service.linkPort());
      const result = await waitFor(
        'the result',
        async () =>
          (await world.reports()).find(
            ({ body }) => body.case === 'report' && body.value.body.case === 'result',
          )?.body,
      );
      over = true;
      expect(result.case === 'report' && result.value.body).toMatchObject({
        case: 'result',
        value: { transactionId: 1n, success: true },
      });
      await waitFor('the acknowledgement', () => lines('journal').at(-1)?.includes('"k":"ack"'));
      expect(lines('effects')).toEqual([
        JSON.stringify({ transactionId: 1, operation: 'put-v1-applications-devices-commands' }),
      ]);
      survivor.kill('SIGTERM');
      await once(survivor, 'exit');
    },
    30_000,
  );
});
