import { randomUUID } from 'node:crypto';
import type { Handlers } from '@headset-cloud/kit/rpc/types.ts';
import type { UpdatesService } from '@headset-cloud/proto/updates/v1/service_pb.ts';
import { type ArtifactName, artifactId, openStates } from '../domain/artifact.ts';
import { requirePackage, requireSize, requireUnreserved, requireVersion } from '../domain/names.ts';
import { refusals } from '../domain/refusals.ts';
import type { WantedUpload } from '../uploads/opener.ts';
import { developerOf, requireCaller } from './caller.ts';
import type { HandlerDependencies } from './dependencies.ts';

/** Specification API 9. Uploads are one PUT; the field says how a client may read its file. */
const chunkPartSize = 10_485_760n;

/**
 * POST …/apps: one URL to upload to, none where the version is there already (rule A14). A repeat
 * under the same Idempotency-Key signs anew for the same upload (rule A19).
 */
export function requestUploadHandler(
  deps: HandlerDependencies,
): Handlers<typeof UpdatesService>['requestUpload'] {
  return async ({ caller: given, package: packageName, version, sizeBytes: declared }) => {
    const caller = requireCaller(given);
    requirePackage(packageName);
    requireVersion(version);
    requireUnreserved(packageName, deps.limits.vendorPrefix);
    const sizeBytes = requireSize(declared, deps.limits.maxBytes);
    const developerId = await developerOf(deps, caller);
    const name = { kind: 'software', package: packageName, version } as const;
    const wanted = (uploadId: string): WantedUpload => ({ uploadId, name, developerId, sizeBytes });

    const { uploadId, exists } = await deps.idempotency.run(caller, {
      draw: async () => randomUUID() as string,
      work: async (drawn) => ({ uploadId: drawn, exists: await isThere(deps, wanted(drawn)) }),
    });
    if (exists) return { appFileExists: true, chunkPartSize, urls: [] };
    const { url, startMs, endMs } = await deps.opener.sign(wanted(uploadId));
    return {
      appFileExists: false,
      chunkPartSize,
      urls: [
        {
          uploadUrl: url,
          startTimestampMs: BigInt(startMs),
          endTimestampMs: BigInt(endMs),
          expireIn: (endMs - startMs) / 1000,
        },
      ],
    };
  };
}

/** True when the version is deliverable; otherwise its upload has been opened. Nothing is stored when it throws. */
async function isThere(deps: HandlerDependencies, wanted: WantedUpload): Promise<boolean> {
  const { catalogue } = deps;
  const { name, developerId, sizeBytes } = wanted;
  const refuseOthers = (owner: string | undefined) => {
    if (owner !== undefined && owner !== developerId) throw refusals.otherDeveloper(name.package);
  };
  refuseOthers(await catalogue.ownerOf(name.package));
  if (await isDeliverable(deps, name)) return true;
  await deps.storage.requireAvailable(sizeBytes);
  const known = await catalogue.get(artifactId(name));
  if (known && openStates.includes(known.state)) {
    // An upload may have arrived that nobody has looked at.
    await deps.lookNow({ artifactId: known.id });
    if (await isDeliverable(deps, name)) return true;
  }
  refuseOthers(await catalogue.claim(name.package, developerId, deps.clock.now()));
  deps.failpoints('updates.claimed');
  const opened = await deps.opener.open(wanted, false);
  return requireState(name, opened.state);
}

async function isDeliverable(deps: HandlerDependencies, name: ArtifactName): Promise<boolean> {
  const found = await deps.catalogue.get(artifactId(name));
  return found ? requireState(name, found.state) : false;
}

/** Throws for a withdrawn version: whoever may upload it again is the operator's decision. */
function requireState(name: ArtifactName, state: string): boolean {
  if (state === 'withdrawn') throw refusals.withdrawn(name.package, name.version);
  return state === 'deliverable';
}
