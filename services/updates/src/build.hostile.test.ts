import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { ArtifactState } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { hostilePackages, longCheck } from './testing/hostile-packages.ts';
import { callerOf, World } from './testing/world.ts';

/** Hostile packages through the service's own doors: a call for a URL, and the PUT to it. */
const worlds: World[] = [];
async function open(ownProcesses: boolean, env: Record<string, string> = {}): Promise<World> {
  const world = await new World({ UPDATES_SWEEP_INTERVAL_MS: '60000', ...env }, { ownProcesses }).start();
  worlds.push(world);
  return world;
}
afterEach(() => Promise.all(worlds.splice(0).map((world) => world.close())));

const app = 'com.example.app';

async function upload(
  world: World,
  version: string,
  content: Buffer,
  developer: 'a' | 'b' = 'a',
  name = app,
) {
  const { urls } = await world.updates.requestUpload({
    ...{ caller: callerOf(developer), package: name, version, sizeBytes: BigInt(content.length) },
  });
  const answer = await fetch(urls[0]?.uploadUrl ?? '', {
    method: 'PUT',
    body: new Uint8Array(content),
    // A kept connection may end while this process makes the next package.
    headers: { 'content-type': 'application/vnd.android.package-archive', connection: 'close' },
  });
  return { status: answer.status, text: (await answer.text()).trim() };
}

const state = async (world: World, version: string) =>
  (await world.admin.listArtifacts({ package: app })).artifacts.find((one) => one.version === version);

// withstands files/bomb, files/archive-tricks
test('every hostile package is refused with its reason, leaves no file, and the service goes on', async () => {
  const world = await open(false);
  const versions = hostilePackages({ package: app, version: '' }).map((_, i) => `1.0.${i}`);
  const judge = async (version: string, i: number) => {
    const { make, reason, what } = hostilePackages({ package: app, version })[i] ?? { what: 'none' };
    const { status, text } = await upload(world, version, make?.() ?? Buffer.alloc(0));
    const told = text.replace('The file was rejected: ', '');
    expect({ what, status, told }).toEqual({ what, status: 422, told: expect.stringMatching(reason ?? '') });
    expect(await state(world, version)).toMatchObject({ state: ArtifactState.REJECTED, reason: told });
  };
  const left = versions.entries();
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (const [i, version] of left) await judge(version, i);
    }),
  );
  for (const folder of ['uploads', 'artifacts', 'partial']) {
    expect(readdirSync(join(world.directory, 'artifacts', folder))).toEqual([]);
  }
  const good = await makeApk({ package: app, versionName: '2' });
  expect(await upload(world, '2', good)).toEqual({ status: 200, text: 'The file was accepted.' });
}, 180_000);

test('while a package is unpacked, this process has little to do', async () => {
  const world = await open(true);
  const content = longCheck({ package: app, version: '1' }, 256);
  const before = performance.eventLoopUtilization();
  // The answer does not wait for longer than 30 s.
  expect((await upload(world, '1', content)).status).toBe(200);
  const stored = world.bed.store.collection<{ _id: string; state: string }>('artifacts');
  await waitFor(
    'the outcome',
    async () => (await stored.findOne({ _id: `software/${app}/1` }))?.state === 'deliverable',
  );
  expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5);
});

test('a package whose check takes too long is refused', async () => {
  const world = await open(true, { UPDATES_CHECK_SECONDS: '1' });
  const content = longCheck({ package: app, version: '1' }, 3072, false);
  expect(await upload(world, '1', content)).toEqual({
    status: 422,
    text: 'The file was rejected: Its check takes longer than 1 s.',
  });
});

// withstands files/check-queue
test('one developer’s many bad files leave another’s alone, and all are refused in the end', async () => {
  const world = await open(true, { UPDATES_SWEEP_INTERVAL_MS: '20' });
  const bad = Buffer.alloc(1000);
  const versions = Array.from({ length: 26 }, (_, i) => `${i}`);
  const puts = Promise.all(versions.map((version) => upload(world, version, bad)));
  const rejected = async () =>
    (await world.admin.listArtifacts({ package: app })).artifacts.filter(
      (one) => one.state === ArtifactState.REJECTED,
    ).length;
  await waitFor('the first refusal', async () => (await rejected()) > 0);
  const theirs = 'com.example.other';
  const good = await makeApk({ package: theirs, versionName: '1' });
  expect(await upload(world, '1', good, 'b', theirs)).toMatchObject({ status: 200 });
  expect(await rejected()).toBeLessThan(versions.length);
  const answers = await puts;
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 422]));
  expect(answers.find(({ status }) => status === 200)?.text).toBe(
    'The file was received and is being checked.',
  );
  await waitFor('all refusals', async () => {
    world.nowMs += 100;
    return (await rejected()) === versions.length;
  });
}, 180_000);
