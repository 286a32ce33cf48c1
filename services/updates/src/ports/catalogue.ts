import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Artifact, ArtifactName } from '../domain/artifact.ts';

/** The fields of an artifact that change when an upload of it is opened. */
export interface OpenArtifact {
  readonly name: ArtifactName;
  readonly developerId: string;
  readonly sizeBytes: number;
  readonly uploadId: string;
}

export interface Page {
  readonly items: readonly { package: string; version: string }[];
  readonly total: number;
}

/** The catalogue: one document per artifact; each change is one conditional update. */
export interface Catalogue {
  get(id: string): Promise<Artifact | undefined>;
  /**
   * Creates the artifact as uploading, or sets a rejected artifact to uploading. With `reopenWithdrawn` it also sets a
   * withdrawn artifact to uploading. From then on the artifact belongs to the developer. Returns the artifact after the
   * change. `record` is the audit record of an operator's change.
   */
  open(
    artifact: OpenArtifact,
    nowMs: number,
    reopenWithdrawn: boolean,
    record?: PendingAuditRecord,
  ): Promise<Artifact>;
  /**
   * Assigns the artifact to the developer and makes it deliverable. Succeeds only while the artifact is open
   * (`openStates`) and its number of withdrawals is `withdrawals`. Returns false if another upload was first, or if the
   * artifact was withdrawn.
   */
  deliver(
    id: string,
    withdrawals: number,
    content: { developerId: string; objectKey: string; sizeBytes: number; sha256: string },
    nowMs: number,
  ): Promise<boolean>;
  /** Rejects the artifact, only while it is open and this is its newest upload. */
  reject(id: string, uploadId: string, reason: string, nowMs: number): Promise<void>;
  /** Rejects the artifact, only while it is uploading and this is its newest upload. */
  expire(id: string, uploadId: string, reason: string, nowMs: number): Promise<void>;
  /**
   * Records that an update with this content is about to be sent, so that the developer can no longer withdraw the
   * artifact. Returns false if the artifact is no longer deliverable with this content.
   */
  markSent(id: string, objectKey: string): Promise<boolean>;
  /**
   * Withdraws a version for its developer: it becomes rejected, without content. Succeeds only while the version is
   * deliverable, no update was ever sent with it, and its number of withdrawals is `withdrawals`. Returns the artifact
   * before the change, or undefined if nothing was changed.
   */
  withdrawByDeveloper(
    id: string,
    of: { readonly developerId: string; readonly withdrawals: number },
    nowMs: number,
    record: PendingAuditRecord,
  ): Promise<Artifact | undefined>;
  /** Withdraws the artifact for an operator. Returns undefined if the artifact does not exist. Idempotent. */
  withdraw(id: string, nowMs: number, record: PendingAuditRecord): Promise<Artifact | undefined>;
  /** A developer's deliverable software, by package, newest version first. */
  listDeliverable(query: {
    developerId: string;
    package: string;
    latest: boolean;
    offset: number;
    limit: number;
  }): Promise<Page>;
  /** Ordered newest first. */
  listFirmware(): Promise<readonly { package: string; version: string }[]>;
  list(query: { kind?: 'software' | 'firmware'; package: string; limit: number }): Promise<Artifact[]>;
}
