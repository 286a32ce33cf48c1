import { randomUUID } from 'node:crypto';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Failpoints } from '@headset-cloud/kit/failpoints.ts';
import type { Idempotency } from '@headset-cloud/kit/idempotency.ts';
import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import { type ArtifactName, artifactId, openStates } from '../domain/artifact.ts';
import { refusals } from '../domain/refusals.ts';
import type { ArtifactStorage, Catalogue } from '../ports.ts';
import type { LookNow } from './looker.ts';
import type { Opener, SignedUpload, WantedUpload } from './opener.ts';

export interface RequestDependencies {
  readonly catalogue: Catalogue;
  readonly storage: ArtifactStorage;
  readonly opener: Opener;
  readonly lookNow: LookNow;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  readonly failpoints: Failpoints;
}

/**
 * One URL for the upload of a package's version; undefined if the version exists already (rule A14). A
 * repeat with the same Idempotency-Key signs a new URL for the same upload (rule A19). Throws if the
 * package is another developer's, or the version was withdrawn; then nothing is stored.
 */
export async function requestUpload(
  deps: RequestDependencies,
  wanted: Omit<WantedUpload, 'uploadId'> & { readonly caller: Caller },
): Promise<SignedUpload | undefined> {
  const { caller, ...upload } = wanted;
  const { uploadId, exists } = await deps.idempotency.run(caller, {
    draw: async () => randomUUID() as string,
    work: async (drawn) => ({ uploadId: drawn, exists: await isThere(deps, { ...upload, uploadId: drawn }) }),
  });
  return exists ? undefined : deps.opener.sign({ ...upload, uploadId });
}

/** True when the version is deliverable; otherwise its upload has been opened. Nothing is stored when it throws. */
async function isThere(deps: RequestDependencies, wanted: WantedUpload): Promise<boolean> {
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
    // An upload may have arrived that has not been checked yet.
    await deps.lookNow({ artifactId: known.id });
    if (await isDeliverable(deps, name)) return true;
  }
  refuseOthers(await catalogue.claim(name.package, developerId, deps.clock.now()));
  deps.failpoints('updates.claimed');
  const opened = await deps.opener.open(wanted, false);
  return requireState(name, opened.state);
}

async function isDeliverable(deps: RequestDependencies, name: ArtifactName): Promise<boolean> {
  const found = await deps.catalogue.get(artifactId(name));
  return found ? requireState(name, found.state) : false;
}

/** Throws for a withdrawn version, because only an operator may decide that it is uploaded again. */
function requireState(name: ArtifactName, state: string): boolean {
  if (state === 'withdrawn') throw refusals.withdrawn(name.package, name.version);
  return state === 'deliverable';
}
