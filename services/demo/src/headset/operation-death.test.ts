import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HeldState, UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Cloud, deviceId } from './testing/cloud.ts';
import { FileServer } from './testing/files.ts';
import { fillCompileCache, startHeadsetProcess } from './testing/headset-process.ts';

let cloud: Cloud;
let files: FileServer;
let child: ChildProcess | undefined;
beforeAll(fillCompileCache);
beforeEach(async () => {
  cloud = new Cloud();
  files = new FileServer(300_000);
  await Promise.all([cloud.start(), files.start()]);
  cloud.onUrl = () => ({ url: files.url('file') });
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await cloud.close();
  await files.close();
});

function run(...more: string[]): ChildProcess {
  child = startHeadsetProcess([
    ...['--server', cloud.address, '--key-file', cloud.keyFile(), '--state', cloud.stateDir],
    ...['--quiet', '--backoff-ms', '10-100', ...more],
  ]);
  return child;
}
async function killed(...more: string[]): Promise<void> {
  const [, signal] = await once(run(...more), 'exit');
  expect(signal).toBe('SIGKILL');
}
const app = { package: 'com.example.guide', version: '2.1' };
const apps = () => {
  const lines = readFileSync(join(cloud.stateDir, `${deviceId}.device.jsonl`), 'utf8').trim();
  return JSON.parse(lines.split('\n').at(-1) ?? '').state.apps;
};

describe('a headset that is killed during an update', () => {
  it.each(['started', 'loading', 'installing', 'effect-done'])(
    'at the point "%s" has, after its restart, installed it once and reported it',
    async (point) => {
      cloud.offer(1, { case: 'updateApp', value: { ...app, artifact: files.artifact() } });
      await killed('--die', point);
      const requests = files.requests.length;
      run();
      expect(await cloud.result(1)).toMatchObject({ success: true, message: 'installed' });
      await waitFor('the acknowledgement', () =>
        readFileSync(join(cloud.stateDir, `${deviceId}.journal.jsonl`), 'utf8')
          .trim()
          .split('\n')
          .at(-1)
          ?.includes('"k":"ack"'),
      );
      expect(cloud.effects()).toEqual([{ transactionId: 1, operation: 'updateApp' }]);
      expect(apps()).toEqual([app]);
      if (point === 'loading') {
        expect(requests).toBe(1);
        expect(files.requests[1]?.range).toMatch(/^bytes=[1-9]\d*-$/);
      }
      // Bytes in the file are not loaded again.
      if (point === 'installing' || point === 'effect-done') {
        expect(files.requests).toHaveLength(requests);
      }
    },
    60_000,
  );
});

describe('a headset that is killed after it has revoked an update', () => {
  it('answers after its restart, and does not install it', async () => {
    const id = { transactionId: 1n };
    cloud.onUrl = () => {
      cloud.send({ case: 'revoke', value: { ...id, reason: 'another one came' } });
      return undefined;
    };
    cloud.offer(1, { case: 'updateApp', value: { ...app, artifact: files.artifact() } });
    await killed('--die', 'revoked');
    expect(cloud.reports).toEqual([]);
    run();
    await waitFor('the answer', () => cloud.reported('revoked').length > 0);
    expect(cloud.hellos.at(-1)?.held).toMatchObject([{ ...id, state: HeldState.FINISHED }]);
    // A start of the revoked transaction gets the same answer.
    await cloud.send({ case: 'start', value: id });
    await waitFor('the answer again', () => cloud.reported('revoked').length > 1);
    expect([cloud.reported('result'), cloud.effects()]).toEqual([[], []]);
  }, 60_000);
});

describe('a headset that is killed after it has erased the data of the former application', () => {
  it('takes the next activation after its restart, and reports one snapshot', async () => {
    const activation = (applicationId: string, epoch: bigint) => ({
      ...{ epoch, revision: epoch, applicationId, clientId: applicationId, sinceEpoch: epoch },
    });
    cloud.activation = activation('A', 1n);
    run();
    await waitFor('the first snapshot', () => cloud.reported('stateChange').length === 1);
    child?.kill('SIGTERM');
    await once(child as ChildProcess, 'exit');
    cloud.activation = activation('B', 3n);
    await killed('--die', 'erased');
    expect(cloud.reported('stateChange')).toHaveLength(1);
    run();
    await waitFor('the second snapshot', () => cloud.reported('inventory').length === 2);
    const reported = cloud.reports.map(({ body, activationEpoch, snapshot }) => [
      ...[body.case, activationEpoch, snapshot],
    ]);
    expect(reported.slice(-2)).toEqual([
      ['stateChange', 3n, true],
      ['inventory', 3n, true],
    ]);
  }, 60_000);
});

describe('a headset that is killed after a reset', () => {
  it('lists it as finished in its next hello and reports it, without a second reset', async () => {
    cloud.offer(1, { case: 'applyLanguages', value: { languages: ['en'] } });
    cloud.offer(2, { case: 'reset', value: {} });
    await killed('--die', 'effect-done=2');
    run();
    expect(await cloud.result(2)).toMatchObject({ success: true, message: 'reset' });
    expect(cloud.hellos.at(-1)).toMatchObject({ languages: ['ja'], activationEpoch: 1n });
    expect(cloud.hellos.at(-1)?.held.at(-1)).toMatchObject({
      ...{ transactionId: 2n, state: HeldState.FINISHED },
    });
    expect(cloud.effects().map(({ operation }) => operation)).toEqual(['applyLanguages', 'reset']);
  }, 60_000);
});

describe('a headset that is killed after an upload', () => {
  it('before its end is stored reports the end once', async () => {
    const file = `app-1/${deviceId}/upload_files/a.bin`;
    const script = cloud.file('script.json', JSON.stringify([{ action: 'upload', file, sizeBytes: 9 }]));
    await killed('--script', script, '--die', 'uploaded');
    expect(cloud.reports).toEqual([]);
    run();
    await waitFor('the report', () => cloud.reports.length > 0);
    const last = cloud.file('last.json', '[{"action":"report","signal":{"level":1}}]');
    child?.kill('SIGTERM');
    await once(child as ChildProcess, 'exit');
    run('--script', last);
    await waitFor('a later report', () => cloud.reported('signal').length === 1);
    expect(cloud.reported('fileUpload')).toMatchObject([
      { file, sizeBytes: 9n, failure: UrlRefusal.UNSPECIFIED },
    ]);
  }, 60_000);
});
