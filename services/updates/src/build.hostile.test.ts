import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { ArtifactState } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { createContentChecks, type RunningContentChecks } from './checks/content-checks.ts';
import { checksHere } from './testing/checks-here.ts';
import { hostilePackages, longCheck } from './testing/hostile-packages.ts';
import { callerOf, World } from './testing/world.ts';

/** Hostile packages, uploaded through the service's own listeners: a call for a URL, and a PUT to the URL. */
const worlds: World[] = [];
async function open(
  checks: { ownProcesses: true } | { contents: RunningContentChecks },
  env: Record<string, string> = {},
): Promise<World> {
  const world = await new World({ UPDATES_SWEEP_INTERVAL_MS: '60000', ...env }, checks).start();
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

// protects against files/bomb, files/archive-tricks
test('every hostile package is rejected with its reason, leaves no file, and the service continues', async () => {
  const world = await open({ contents: checksHere });
  const versions = hostilePackages({ package: app, version: '' }).map((_, i) => `1.0.${i}`);
  const checkPackage = async (version: string, i: number) => {
    const { make, reason, what } = hostilePackages({ package: app, version })[i] ?? { what: 'none' };
    const { status, text } = await upload(world, version, make?.() ?? Buffer.alloc(0));
    const reported = text.replace('The file was rejected: ', '');
    expect({ what, status, reported }).toEqual({
      what,
      status: 422,
      reported: expect.stringMatching(reason ?? ''),
    });
    expect(await state(world, version)).toMatchObject({ state: ArtifactState.REJECTED, reason: reported });
  };
  const left = versions.entries();
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (const [i, version] of left) await checkPackage(version, i);
    }),
  );
  for (const folder of ['uploads', 'artifacts', 'partial']) {
    expect(readdirSync(join(world.directory, 'artifacts', folder))).toEqual([]);
  }
  const good = await makeApk({ package: app, versionName: '2' });
  expect(await upload(world, '2', good)).toEqual({ status: 200, text: 'The file was accepted.' });
}, 180_000);

test('a package is checked in a separate process', async () => {
  const world = await open({ ownProcesses: true });
  const content = await makeApk({ package: app, versionName: '1' });
  const verdicts: unknown[] = [];
  const watch = (message: unknown) => {
    const { process } = message as { process: ChildProcess };
    process.on(
      'message',
      (message: { kind: string }) => message.kind === 'verdict' && verdicts.push(message),
    );
  };
  subscribe('child_process', watch);
  try {
    // The PUT is answered after at most 30 s.
    expect((await upload(world, '1', content)).status).toBe(200);
    const stored = world.bed.store.collection<{ _id: string; state: string }>('artifacts');
    await waitFor(
      'the outcome',
      async () => (await stored.findOne({ _id: `software/${app}/1` }))?.state === 'deliverable',
    );
  } finally {
    unsubscribe('child_process', watch);
  }
  expect(verdicts).toEqual([expect.objectContaining({ verdict: { sha256: expect.any(String) } })]);
});

test('a package whose check takes too long is rejected', async () => {
  const world = await open({ ownProcesses: true }, { UPDATES_CHECK_SECONDS: '1' });
  const content = longCheck({ package: app, version: '1' }, 3072, false);
  expect(await upload(world, '1', content)).toEqual({
    status: 422,
    text: 'The file was rejected: Its check takes longer than 1 s.',
  });
});

// protects against files/check-queue
test('many bad files of one developer do not delay another developer, and all are rejected in the end', async () => {
  const checks = createContentChecks({ atOnce: 2, timeoutMs: 150_000 });
  const goOn = Promise.withResolvers<void>();
  const held: RunningContentChecks = {
    ...checks,
    check: (developerId, declared, fetch) =>
      checks.check(developerId, declared, async (signal) => {
        const copy = await fetch(signal);
        if (developerId === 'dev-a') await goOn.promise;
        return copy;
      }),
  };
  const world = await open({ contents: held }, { UPDATES_SWEEP_INTERVAL_MS: '20' });
  const bad = Buffer.alloc(1000);
  const versions = Array.from({ length: 26 }, (_, i) => `${i}`);
  const puts = Promise.all(versions.map((version) => upload(world, version, bad)));
  const rejected = async () =>
    (await world.admin.listArtifacts({ package: app })).artifacts.filter(
      (one) => one.state === ArtifactState.REJECTED,
    ).length;
  try {
    await waitFor('a full queue', () => checks.waiting() === 20);
    const theirs = 'com.example.other';
    const good = await makeApk({ package: theirs, versionName: '1' });
    expect(await upload(world, '1', good, 'b', theirs)).toEqual({
      status: 200,
      text: 'The file was accepted.',
    });
    expect(await rejected()).toBe(0);
  } finally {
    goOn.resolve();
  }
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
