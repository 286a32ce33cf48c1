import { type PendingAuditFields, pendingAuditIndex } from '@headset-cloud/rules/audit/record.ts';
import { idempotencyIndexes } from '@headset-cloud/rules/idempotency.ts';
import type { IndexDescription } from '@headset-cloud/store/operations.ts';
import type { ArtifactKind, ArtifactState } from '../domain/artifact.ts';
import type { RejectedFile } from '../domain/upload.ts';

/**
 * One document per package, with the developer that claimed it last. The developer owns the package after a file was
 * accepted. Before that, the developer's claim is valid while an upload is open.
 */
export interface PackageDocument {
  /** Package name. */
  _id: string;
  developerId: string;
  claimedAtMs: number;
  /**
   * True if a file was accepted. Absent if no file was accepted, or if release 0.1.0 accepted it: then an artifact of
   * the package has a hash.
   */
  accepted?: boolean;
  /** The newest claim. It is valid by itself until its upload is stored, at most until `untilMs`. */
  claim?: { uploadId: string; untilMs: number };
  /** Changes with every claim and acceptance. Absent if 0.1.0 wrote the document. */
  revision?: number;
}

export interface ArtifactDocument extends PendingAuditFields {
  /** `artifactId` of domain/artifact.ts. */
  _id: string;
  kind: ArtifactKind;
  package: string;
  version: string;
  /** `versionKey` of the version, so that an index orders versions. */
  versionKey: string;
  /** Empty for firmware. */
  developerId: string;
  state: ArtifactState;
  reason: string;
  sizeBytes: number;
  sha256: string;
  objectKey: string;
  /** The newest upload that was opened for the artifact. */
  uploadId: string;
  updatedAtMs: number;
  /** Absent: release 0.1.0 created the document, and an update may have been sent with the artifact. */
  named?: boolean;
  /** How often its developer has withdrawn it; absent: never. */
  withdrawals?: number;
}

export interface UploadDocument {
  _id: string;
  artifactId: string;
  developerId: string;
  sizeBytes: number;
  expiresAtMs: number;
  looks: number;
  /** True if another file has no effect, so that only stored files must be removed. */
  settled: boolean;
  /** Time of the next check. */
  dueAtMs: number;
  /** The artifact's withdrawals when the upload was opened; absent: none. */
  withdrawals?: number;
  /** Tag of the accepted file. Absent: none, or release 0.1.0 accepted it. */
  accepted?: string;
  /** Time until which a check has claimed the upload. */
  leaseUntilMs: number;
  /** The last rejected file. Absent: none, or 0.1.0 rejected a file and removed it at once. */
  rejected?: RejectedFile;
  /** True while the upload's file is being removed, before the document is removed. */
  closing?: boolean;
}

/** Reservations of uploads that are about to be stored. One document per developer, and one for firmware. */
export interface ReservationsDocument {
  _id: string;
  places: { uploadId: string; artifactId: string; untilMs: number }[];
  /** Rises with every reservation. */
  revision: number;
}

export const collections = {
  packages: 'packages',
  artifacts: 'artifacts',
  uploads: 'uploads',
  uploadPlaces: 'uploadPlaces',
  idempotency: 'idempotency',
} as const;

/** Created by step 1 (steps.ts). Every query of this service uses one of these indexes or `_id`. */
export const updatesIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.artifacts]: [
    {
      name: 'deliverable',
      key: { kind: 1, state: 1, developerId: 1, package: 1, versionKey: -1, version: -1 },
    },
    { name: 'kind', key: { kind: 1, package: 1, versionKey: -1 } },
    { name: 'package', key: { package: 1, versionKey: -1 } },
  ],
  [collections.uploads]: [
    { name: 'due', key: { dueAtMs: 1 } },
    { name: 'artifact', key: { artifactId: 1, expiresAtMs: 1 } },
    { name: 'developer', key: { developerId: 1, settled: 1 } },
  ],
  [collections.idempotency]: idempotencyIndexes,
};

/** Collections whose documents have pending audit records; their index is created by step 2. */
export const auditedCollections = [collections.artifacts] as const;

export const pendingAuditIndexes: Readonly<Record<string, IndexDescription[]>> = {
  [collections.artifacts]: [pendingAuditIndex],
};
