import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { request } from 'undici';
import { act } from '../headsets.ts';
import type { Random } from '../random.ts';
import { type Draw, type LoadTarget, type Loop, rest } from './target.ts';

const contentType = 'application/vnd.android.package-archive';
/** Padding of a package, so that its download takes several progress reports; bytes. */
const fillerBytes = 60_000;
/** Share of installations that are sent in pairs. */
const twiceShare = 0.3;

/** One loop uploads new versions. The other installs deliverable versions, some in pairs on one headset. */
export function updateLoops(target: LoadTarget, pauseMs: number, draw: Draw, inPairs = twiceShare): Loop[] {
  const uploading =
    (r: Random): Loop =>
    async (running) => {
      for (let n = 1; running(); n++) {
        await publish(target, `1.${n}`);
        await rest(r.between(10 * pauseMs, 40 * pauseMs), running);
      }
    };
  const installing =
    (r: Random): Loop =>
    async (running) => {
      while (running()) {
        const versions = await deliverable(target);
        if (versions.length > 0) {
          const { deviceId } = r.pick(target.devices);
          if (r.chance(inPairs)) await installTwice(target, versions, deviceId, r);
          else await install(target, r.pick(versions), deviceId);
        }
        await rest(r.between(2 * pauseMs, 6 * pauseMs), running);
      }
    };
  return [uploading(draw('packages')), installing(draw('updates'))];
}

/** Uploads a first version that can be installed, before the first fault. */
export async function prepareUpdates(target: LoadTarget): Promise<void> {
  await publish(target, '1.0');
  await waitFor('a package to be deliverable', async () => (await deliverable(target)).length > 0, {
    timeoutMs: 60_000,
    intervalMs: 100,
  });
}

/** Returns the application's package name. A package name belongs to one developer. */
function packageOf({ applicationId }: LoadTarget): string {
  return `com.example.a${applicationId.replaceAll('-', '')}`;
}

/** Uploads a version: requests a URL, puts the file, and repeats both until the upload succeeds. */
async function publish(target: LoadTarget, version: string): Promise<void> {
  const { applicationId, client, loadRecord } = target;
  const name = packageOf(target);
  const apk = await makeApk({
    package: name,
    versionName: version,
    entries: { 'a.bin': randomBytes(fillerBytes) },
  });
  while (!client.givenUp) {
    const { body } = await client.ask({
      kind: 'package',
      method: 'POST',
      path: '/apps',
      body: { package: name, version, fileSize: apk.length },
    });
    // A refusal has no URL. The checks verify its reason.
    const uploadUrl: string | undefined = body?.urlList?.[0]?.uploadUrl;
    if (body?.appFileExists || (uploadUrl && (await put(uploadUrl, apk)))) {
      loadRecord.packages.push({ applicationId, package: name, version });
      return;
    }
    await delay(500);
  }
}

async function put(url: string, apk: Buffer): Promise<boolean> {
  try {
    const answer = await request(url, {
      method: 'PUT',
      body: apk,
      headers: { 'content-type': contentType },
      headersTimeout: 5000,
    });
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    return false;
  }
}

/** Returns versions that can be installed; empty if the platform does not answer. */
async function deliverable(target: LoadTarget): Promise<string[]> {
  try {
    const answer = await target.api.app('GET', `/apps?package=${packageOf(target)}`);
    return answer.status === 200
      ? answer.body.appVersions.map(({ version }: { version: string }) => version)
      : [];
  } catch {
    return [];
  }
}

function install(target: LoadTarget, version: string, deviceId: string) {
  return target.client.call({
    kind: 'update',
    method: 'PUT',
    path: `/devices/${deviceId}/apps`,
    body: { package: packageOf(target), version },
    deviceId,
  });
}

/** Sends two updates of one package to one headset, and cuts its connection during the download. */
async function installTwice(
  target: LoadTarget,
  versions: readonly string[],
  deviceId: string,
  r: Random,
): Promise<void> {
  await Promise.all([
    install(target, r.pick(versions), deviceId),
    install(target, r.pick(versions), deviceId),
  ]);
  for (let cuts = r.between(1, 3); cuts > 0; cuts--) {
    await delay(r.between(50, 500));
    await act(target.headsetsOf(deviceId), deviceId, { action: 'disconnect' });
  }
}
