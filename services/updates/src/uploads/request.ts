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
import type { Opener, SignedUpload, UploadRequest } from './opener.ts';

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
 * another developer, or if an operator has withdrawn the version. Then nothing is stored.
 */
export async function requestUpload(
  deps: RequestDependencies,
  request: Omit<UploadRequest, 'uploadId'> & { readonly caller: Caller },
): Promise<SignedUpload | undefined> {
  const { caller, ...upload } = request;
  let repeated = true;
  const { uploadId, exists } = await deps.idempotency.run(caller, {
    draw: async () => randomUUID() as string,
    work: async (drawn) => {
      repeated = false;
      return { uploadId: drawn, exists: await openUnlessDeliverable(deps, { ...upload, uploadId: drawn }) };
    },
  });
  if (exists) return undefined;
  const opened = { ...upload, uploadId };
  // The upload may have expired since the first call, and with it the claim on the package.
  if (repeated) await claim(deps, opened);
  return deps.opener.sign(opened);
}

/** Reserves capacity for the upload and claims its package. If it throws, no claim is stored. */
async function claim(
  { packages, opener, clock }: RequestDependencies,
  request: UploadRequest,
): Promise<void> {
  await opener.reserve(request);
  const { uploadId, name, developerId } = request;
  requireOwner(request, await packages.claim(name.package, developerId, uploadId, clock.now()));
}

/** Throws if the package belongs to another developer. */
function requireOwner({ name, developerId }: UploadRequest, owner: string | undefined): void {
  if (owner !== undefined && owner !== developerId) throw refusals.otherDeveloper(name.package);
}

/** Opens the upload, or returns true if the version is deliverable already. If it throws, nothing is stored. */
async function openUnlessDeliverable(deps: RequestDependencies, request: UploadRequest): Promise<boolean> {
  const { catalogue, packages, clock } = deps;
  const { name, sizeBytes } = request;
  requireOwner(request, await packages.ownerOf(name.package, clock.now()));
  if (await isDeliverable(deps, request)) return true;
  await deps.storage.requireAvailable(sizeBytes);
  const known = await catalogue.get(artifactId(name));
  if (known && openStates.includes(known.state)) {
    // An upload may have arrived that has not been checked yet.
    await deps.checkNow({ artifactId: known.id });
    if (await isDeliverable(deps, request)) return true;
  }
  await claim(deps, request);
  const opened = await deps.opener.open(request, false);
  return isDeliverableState(request, opened);
}

async function isDeliverable(deps: RequestDependencies, request: UploadRequest): Promise<boolean> {
  const found = await deps.catalogue.get(artifactId(request.name));
  return found ? isDeliverableState(request, found) : false;
}

/**
 * True if the version is deliverable. Throws for a version that an operator has withdrawn: only an operator can reopen
 * it.
 */
function isDeliverableState(request: UploadRequest, { state, sha256, developerId }: Artifact): boolean {
  const { name } = request;
  // A late file of another developer may have been accepted in the meantime.
  if (sha256) requireOwner(request, developerId);
  if (state === 'withdrawn') throw refusals.withdrawn(name.package, name.version);
  return state === 'deliverable';
}
