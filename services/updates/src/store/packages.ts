import { isDuplicateKey } from '@headset-cloud/runtime/errors.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { PackageNames } from '../ports/package-names.ts';
import type { ArtifactDocument, PackageDocument, UploadDocument } from './documents.ts';

/**
 * Maximum time from a claim to the storing of its upload; milliseconds. The upload is stored at once unless the process
 * ends.
 */
const claimMs = 60_000;

interface Owner {
  readonly developerId: string;
  readonly accepted: boolean;
}

export function createPackageNames(
  packages: StoreCollection<PackageDocument>,
  artifacts: StoreCollection<ArtifactDocument>,
  uploads: StoreCollection<UploadDocument>,
): PackageNames {
  /** True while an upload of the package is open or being checked, and no file of the upload was rejected. */
  async function hasOpenUpload(packageName: string, developerId: string, nowMs: number): Promise<boolean> {
    const open = await uploads.findOne(
      {
        // Range of all versions: '0' follows '/'.
        artifactId: { $gt: `software/${packageName}/`, $lt: `software/${packageName}0` },
        developerId,
        settled: false,
        rejected: { $exists: false },
        $or: [{ expiresAtMs: { $gt: nowMs } }, { leaseUntilMs: { $gt: nowMs } }],
      },
      { projection: { _id: 1 } },
    );
    return open !== null;
  }

  async function isClaimed(
    { _id: name, developerId, claim }: PackageDocument,
    nowMs: number,
  ): Promise<boolean> {
    // Reads in the order in which a request writes: first the claim, then the upload.
    if (claim && claim.untilMs > nowMs && !(await uploads.findOne({ _id: claim.uploadId }))) return true;
    return hasOpenUpload(name, developerId, nowMs);
  }

  /** Undefined if the package is free. */
  async function ownerOf(existing: PackageDocument, nowMs: number): Promise<Owner | undefined> {
    const { _id: name, developerId } = existing;
    if (existing.accepted) return { developerId, accepted: true };
    // Release 0.1.0 accepts files without a change of this document.
    const accepted = await artifacts.findOne(
      { kind: 'software', package: name, sha256: { $gt: '' } },
      { projection: { developerId: 1 } },
    );
    if (accepted) return { developerId: accepted.developerId, accepted: true };
    return (await isClaimed(existing, nowMs)) ? { developerId, accepted: false } : undefined;
  }

  /**
   * Assigns the package to the developer if it is free, by one conditional write. The revision changes with every
   * claim and acceptance, and every upload is stored after its claim. So the write fails if the uploads that were
   * read are out of date. Returns the owner after the call.
   */
  async function assign(
    packageName: string,
    developerId: string,
    nowMs: number,
    set: Pick<PackageDocument, 'accepted' | 'claim'>,
  ): Promise<string> {
    for (;;) {
      const existing = await packages.findOne({ _id: packageName });
      if (!existing) {
        try {
          await packages.insertOne({
            _id: packageName,
            developerId,
            claimedAtMs: nowMs,
            revision: 1,
            ...set,
          });
          return developerId;
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
          continue;
        }
      }
      const owner = await ownerOf(existing, nowMs);
      const isClaimedByOther = owner && !owner.accepted && owner.developerId !== developerId;
      if (owner && (existing.accepted || isClaimedByOther)) return owner.developerId;
      // Release 0.1.0 accepted a file of the package: only stores that.
      const change = owner?.accepted
        ? { developerId: owner.developerId, accepted: true }
        : { developerId, ...(existing.developerId !== developerId && { claimedAtMs: nowMs }), ...set };
      const { matchedCount } = await packages.updateOne(
        { _id: packageName, revision: existing.revision ?? { $exists: false } },
        { $set: change, $inc: { revision: 1 } },
      );
      if (matchedCount === 1) return change.developerId;
    }
  }

  return {
    async ownerOf(packageName, nowMs) {
      const existing = await packages.findOne({ _id: packageName });
      return existing ? (await ownerOf(existing, nowMs))?.developerId : undefined;
    },
    claim: (packageName, developerId, uploadId, nowMs) =>
      assign(packageName, developerId, nowMs, { claim: { uploadId, untilMs: nowMs + claimMs } }),
    accept: (packageName, developerId, nowMs) => assign(packageName, developerId, nowMs, { accepted: true }),
  };
}
