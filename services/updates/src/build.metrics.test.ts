import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { callerOf, World } from './testing/world.ts';

let world: World;
beforeEach(async () => {
  // A long interval, so that the sweeper starts no checks.
  world = await new World({ UPDATES_SWEEP_INTERVAL_MS: '60000', UPDATES_STORAGE_WATCH_MS: '100' }).start();
});
afterEach(() => world.close());

const app = 'com.example.app';
async function upload(version: string, bytes: Buffer, sizeBytes = bytes.length) {
  const size = BigInt(sizeBytes);
  return (await world.updates.requestUpload({ caller: callerOf(), package: app, version, sizeBytes: size }))
    .urls[0]?.uploadUrl as string;
}
async function put(url: string, bytes: Buffer): Promise<number> {
  const headers = { 'content-type': 'application/vnd.android.package-archive' };
  return (await fetch(url, { method: 'PUT', body: new Uint8Array(bytes), headers })).status;
}
const samples = async (name: string) =>
  (await world.metrics.getSingleMetricAsString(name))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

test('uploads that wait for their check are counted, with the age of the oldest upload', async () => {
  expect(await samples('headset_updates_checks_due')).toEqual(['headset_updates_checks_due 0']);
  expect(await samples('headset_updates_checks_oldest_due_age_seconds')).toEqual([
    'headset_updates_checks_oldest_due_age_seconds 0',
  ]);
  await upload('1.0.0', Buffer.alloc(10));
  world.nowMs += 3000;
  await upload('2.0.0', Buffer.alloc(10));
  // The first check is due after half a second.
  expect(await samples('headset_updates_checks_due')).toEqual(['headset_updates_checks_due 1']);
  world.nowMs += 4000;
  expect(await samples('headset_updates_checks_due')).toEqual(['headset_updates_checks_due 2']);
  expect(await samples('headset_updates_checks_oldest_due_age_seconds')).toEqual([
    'headset_updates_checks_oldest_due_age_seconds 6.5',
  ]);
});

test('each outcome has a counter of 0 before the first check, so that a scrape sees the first increase', async () => {
  expect(await samples('headset_updates_checks_total')).toEqual(
    ['deliverable', 'rejected', 'superseded'].map(
      (outcome) => `headset_updates_checks_total{outcome="${outcome}"} 0`,
    ),
  );
});

test('a usable disk is not reported as unavailable storage', async () => {
  await waitFor('the first check', async () => {
    const [line] = await samples('headset_updates_storage_unavailable');
    return line === 'headset_updates_storage_unavailable 0';
  });
  expect(world.service.warnings?.()).toEqual([]);
  rmSync(join(world.directory, 'artifacts'), { recursive: true });
  await waitFor('the outage to be detected', async () => {
    const [line] = await samples('headset_updates_storage_unavailable');
    return line === 'headset_updates_storage_unavailable 1';
  });
  expect(world.service.notReady?.()).toBeUndefined();
  expect(world.service.warnings?.()).toEqual([
    { name: 'storage_unavailable', message: expect.stringMatching(/ENOENT.*artifacts/) },
  ]);
});

test('rejected uploads are counted by the rule they break', async () => {
  const whole = await makeApk({ package: app, versionName: '1.0.0' });
  const spoiled = Buffer.from(whole).fill(0);
  expect(await put(await upload('1.0.0', spoiled), spoiled)).toBe(422);
  expect(await put(await upload('2.0.0', whole), whole)).toBe(422);
  expect(await put(await upload('1.0.0', whole), whole)).toBe(200);
  expect(await samples('headset_updates_rejected_total')).toEqual([
    'headset_updates_rejected_total{rule="not_whole"} 1',
    'headset_updates_rejected_total{rule="other_name"} 1',
  ]);
});
