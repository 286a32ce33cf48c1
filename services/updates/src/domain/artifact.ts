/** Software (apps of integrators) or firmware (of the vendor). */
export type ArtifactKind = 'software' | 'firmware';

/**
 * - uploading: a URL was issued, and no upload has passed the check yet.
 * - deliverable: an upload has passed the check. The content never changes.
 * - rejected: the newest upload failed the check, or the developer has withdrawn the version.
 * - withdrawn: an operator has withdrawn the version, from any state.
 */
export type ArtifactState = 'uploading' | 'deliverable' | 'rejected' | 'withdrawn';

/** States in which an artifact becomes deliverable when an upload of it passes its check. */
export const openStates: readonly ArtifactState[] = ['uploading', 'rejected'];

/** Name of an artifact. A firmware's version is unique, because an update names only the version. */
export interface ArtifactName {
  readonly kind: ArtifactKind;
  readonly package: string;
  readonly version: string;
}

/** One package and version, or one firmware version. */
export interface Artifact extends ArtifactName {
  readonly id: string;
  readonly state: ArtifactState;
  /**
   * Reason for the rejection of the newest checked upload. Empty if it was not rejected. Kept until an upload passes.
   */
  readonly reason: string;
  /** Size of the content once it is deliverable; before that the declared size. */
  readonly sizeBytes: number;
  /** Hexadecimal; empty until an upload passed. */
  readonly sha256: string;
  /** Storage key of the content; empty until an upload passed. */
  readonly objectKey: string;
  /** Empty for firmware. */
  readonly developerId: string;
  readonly updatedAtMs: number;
  /**
   * True if an update may have been sent with the artifact. Its developer may withdraw the artifact only while this is
   * false. Absent if release 0.1.0 created the artifact: then it is unknown whether an update was sent.
   */
  readonly named?: boolean;
  /**
   * Number of times that the developer has withdrawn the artifact. A file has no effect if its upload was opened before
   * the last withdrawal.
   */
  readonly withdrawals: number;
}

/** The artifact's id; package names and versions have no slash. */
export function artifactId(name: ArtifactName): string {
  return name.kind === 'software' ? `software/${name.package}/${name.version}` : `firmware/${name.version}`;
}

/** The content type that an upload's URL requires. */
export function contentTypeOf(kind: ArtifactKind): string {
  return kind === 'software' ? 'application/vnd.android.package-archive' : 'application/octet-stream';
}

/** Storage key of an upload. Each upload has its own key, so that uploads never overwrite each other. */
export function uploadKey(uploadId: string): string {
  return `uploads/${uploadId}`;
}

/** Storage key of checked content. The key contains the hash, so other content is never written to it. */
export function checkedKey(uploadId: string, sha256: string): string {
  return `artifacts/${uploadId}.${sha256}`;
}

/** True when the artifact's content came from this upload. */
export function isOwnContent(artifact: Pick<Artifact, 'objectKey'>, uploadId: string): boolean {
  return artifact.objectKey.startsWith(`artifacts/${uploadId}.`);
}
