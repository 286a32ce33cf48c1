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
   * Creates the artifact as uploading, or sets a rejected artifact to uploading; with `revive` also a withdrawn
   * artifact. From then on it belongs to the developer. Returns the artifact afterwards. `record` is the audit record
   * of an operator's change.
   */
  open(
    artifact: OpenArtifact,
    nowMs: number,
    revive: boolean,
    record?: PendingAuditRecord,
  ): Promise<Artifact>;
  /**
   * Assigns the artifact to the developer and makes it deliverable, only while it is open and has those withdrawals
   * (domain/artifact.ts). False: another upload won, or the artifact was withdrawn.
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
   * Records that an update is about to be sent with this content, so that its developer can no longer withdraw it.
   * False: the artifact is no longer deliverable with this content.
   */
  name(id: string, objectKey: string): Promise<boolean>;
  /**
   * Resets the developer's version to its state before the upload, only while it is deliverable, no update was ever
   * sent with it, and it has those withdrawals. Returns the artifact before the change; undefined: nothing was changed.
   */
  takeBack(
    id: string,
    of: { readonly developerId: string; readonly withdrawals: number },
    nowMs: number,
    record: PendingAuditRecord,
  ): Promise<Artifact | undefined>;
  /** Returns undefined if the artifact does not exist. Idempotent. */
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
