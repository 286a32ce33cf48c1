import { randomUUID } from 'node:crypto';
import type { UpdatesAdminService } from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { type Artifact, artifactId } from '../domain/artifact.ts';
import { requirePackage, requireSize, requireVersion } from '../domain/names.ts';
import type { AdminDependencies } from './dependencies.ts';
import { artifactInfo } from './messages.ts';

/**
 * Opens the upload of a firmware. An existing version is never overwritten; a withdrawn version can be uploaded again.
 */
export function putFirmwareHandler(
  deps: AdminDependencies,
): Handlers<typeof UpdatesAdminService>['putFirmware'] {
  return async ({ package: packageName, version, sizeBytes: declared }) => {
    requirePackage(packageName);
    requireVersion(version);
    const sizeBytes = requireSize(declared, deps.maxBytes, 'invalid_argument');
    const name = { kind: 'firmware', package: packageName, version } as const;
    const existing = await deps.catalogue.get(artifactId(name));
    if (existing) requireSamePackage(existing, packageName);
    if (existing?.state === 'deliverable') return { artifact: artifactInfo(existing), uploadUrl: '' };
    await deps.storage.requireAvailable(sizeBytes);
    const request = { uploadId: randomUUID(), name, developerId: '', sizeBytes };
    await deps.opener.reserve(request);
    const subject = { target: artifactId(name), fields: ['upload'] };
    const artifact = await deps.audit.change(subject, (record) => deps.opener.open(request, true, record));
    requireSamePackage(artifact, packageName);
    if (existing?.objectKey) await deps.storage.remove(existing.objectKey);
    if (artifact.state !== 'uploading') return { artifact: artifactInfo(artifact), uploadUrl: '' };
    return { artifact: artifactInfo(artifact), uploadUrl: (await deps.opener.sign(request)).url };
  };
}

/** Throws if the version belongs to another package. An update identifies a firmware by its version alone. */
function requireSamePackage(artifact: Artifact, packageName: string): void {
  if (artifact.package !== packageName) {
    throw new DomainError(
      'conflict',
      `The firmware version ${artifact.version} is the package ${artifact.package}'s. Choose another version.`,
    );
  }
}
