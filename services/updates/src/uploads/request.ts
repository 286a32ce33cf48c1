import { randomUUID } from 'node:crypto';
import type { Caller } from '@headset-cloud/proto/common/v1/common_pb.ts';
import type { Idempotency } from '@headset-cloud/rules/idempotency.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import { type Artifact, artifactId, openStates } from '../domain/artifact.ts';
import { refusals } from '../domain/refusals.ts';
import type { ArtifactStorage } from '../ports/artifact-storage.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { PackageNames } from '../ports/package-names.ts';
import type { CheckNow } from './check-now.ts';
import type { Opener, SignedUpload, WantedUpload } from './opener.ts';

export interface RequestDependencies {
  readonly packages: PackageNames;
  readonly catalogue: Catalogue;
  readonly storage: ArtifactStorage;
  readonly opener: Opener;
  readonly checkNow: CheckNow;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
}

/**
 * Returns one URL for the upload of a package's version; undefined if the version exists already (rule A14). A repeat
 * with the same Idempotency-Key signs a new URL for the same upload (rule A19). Throws if the package belongs to
 * another developer, or the version was withdrawn; then nothing is stored.
 */
export async function requestUpload(
  deps: RequestDependencies,
  wanted: Omit<WantedUpload, 'uploadId'> & { readonly caller: Caller },
): Promise<SignedUpload | undefined> {
  const { caller, ...upload } = wanted;
  let repeated = true;
  const { uploadId, exists } = await deps.idempotency.run(caller, {
    draw: async () => randomUUID() as string,
    work: async (drawn) => {
      repeated = false;
      return { uploadId: drawn, exists: await isThere(deps, { ...upload, uploadId: drawn }) };
    },
  });
  if (exists) return undefined;
  const signed = { ...upload, uploadId };
  // The claim may have expired since the first call.
  if (repeated) await claim(deps, signed);
  return deps.opener.sign(signed);
}

/** Claims the package for the upload. Nothing is stored when it throws. */
async function claim({ packages, opener, clock }: RequestDependencies, wanted: WantedUpload): Promise<void> {
  await opener.takePlace(wanted);
  const { uploadId, name, developerId } = wanted;
  refuseOthers(wanted, await packages.claim(name.package, developerId, uploadId, clock.now()));
}

function refuseOthers({ name, developerId }: WantedUpload, owner: string | undefined): void {
  if (owner !== undefined && owner !== developerId) throw refusals.otherDeveloper(name.package);
}

/** True when the version is deliverable; otherwise its upload has been opened. Nothing is stored when it throws. */
async function isThere(deps: RequestDependencies, wanted: WantedUpload): Promise<boolean> {
  const { catalogue, packages, clock } = deps;
  const { name, sizeBytes } = wanted;
  refuseOthers(wanted, await packages.ownerOf(name.package, clock.now()));
  if (await isDeliverable(deps, wanted)) return true;
  await deps.storage.requireAvailable(sizeBytes);
  const known = await catalogue.get(artifactId(name));
  if (known && openStates.includes(known.state)) {
    // An upload may have arrived that has not been checked yet.
    await deps.checkNow({ artifactId: known.id });
    if (await isDeliverable(deps, wanted)) return true;
  }
  await claim(deps, wanted);
  const opened = await deps.opener.open(wanted, false);
  return requireState(wanted, opened);
}

async function isDeliverable(deps: RequestDependencies, wanted: WantedUpload): Promise<boolean> {
  const found = await deps.catalogue.get(artifactId(wanted.name));
  return found ? requireState(wanted, found) : false;
}

/** Throws for a withdrawn version, because only an operator may decide to upload it again. */
function requireState(wanted: WantedUpload, { state, sha256, developerId }: Artifact): boolean {
  const { name } = wanted;
  // A late file of another developer may have been accepted in the meantime.
  if (sha256) refuseOthers(wanted, developerId);
  if (state === 'withdrawn') throw refusals.withdrawn(name.package, name.version);
  return state === 'deliverable';
}
