/** What is kept for headsets: apps of integrators, firmware of the vendor. */
export type ArtifactKind = 'software' | 'firmware';

/**
 * uploading: a URL was given out, nothing has passed the check yet. deliverable: checked; its content
 * never changes. rejected: the newest upload failed the check. withdrawn: by an operator, from
 * whatever it was.
 */
export type ArtifactState = 'uploading' | 'deliverable' | 'rejected' | 'withdrawn';

/** States that an upload which passes its check turns into deliverable. */
export const openStates: readonly ArtifactState[] = ['uploading', 'rejected'];

/** What names an artifact. A firmware's version is unique: its update names nothing else. */
export interface ArtifactName {
  readonly kind: ArtifactKind;
  readonly package: string;
  readonly version: string;
}

/** One package and version, or one firmware version. */
export interface Artifact extends ArtifactName {
  readonly id: string;
  readonly state: ArtifactState;
  /** Why the newest checked upload was rejected; empty when none was. Kept until one passes. */
  readonly reason: string;
  /** Of the content once it is deliverable, before as declared. */
  readonly sizeBytes: number;
  /** Hexadecimal; empty until an upload passed. */
  readonly sha256: string;
  /** Where the content is; empty until an upload passed. */
  readonly objectKey: string;
  /** Empty for firmware. */
  readonly developerId: string;
  readonly updatedAtMs: number;
}

/** The artifact's id; package names and versions have no slash. */
export function artifactId(name: ArtifactName): string {
  return name.kind === 'software' ? `software/${name.package}/${name.version}` : `firmware/${name.version}`;
}

/** The content type that an upload's URL demands. */
export function contentTypeOf(kind: ArtifactKind): string {
  return kind === 'software' ? 'application/vnd.android.package-archive' : 'application/octet-stream';
}

/** Where an upload arrives: a key of its own for each URL, so that two never mix. */
export function uploadKey(uploadId: string): string {
  return `uploads/${uploadId}`;
}

/** Where checked content stays; names the content, so that nothing else is ever written there. */
export function checkedKey(uploadId: string, sha256: string): string {
  return `artifacts/${uploadId}.${sha256}`;
}

/** True when the artifact's content came by this upload. */
export function isOwnContent(artifact: Pick<Artifact, 'objectKey'>, uploadId: string): boolean {
  return artifact.objectKey.startsWith(`artifacts/${uploadId}.`);
}
