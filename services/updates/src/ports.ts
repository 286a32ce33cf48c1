import type { OwedRecord } from '@headset-cloud/rules/audit/record.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Declared, Verdict } from './checks/check-file.ts';
import type { Artifact, ArtifactName } from './domain/artifact.ts';
import type { RejectedFile, Upload } from './domain/upload.ts';

/** A stored object; `tag` changes with its content. */
export interface StoredObject {
  readonly sizeBytes: number;
  readonly tag: string;
}

/** An object's content as a file on this machine. */
export interface LocalCopy {
  readonly path: string;
  dispose(): Promise<void>;
}

/** The content of an object changed between two steps; the check must be repeated. */
export class ObjectChanged extends Error {}

/** The disk of the folder for checks is full; the check is repeated later. */
export class DiskFullError extends DomainError {
  /** `bytes`: the free space that the check needs, if known. */
  constructor(folder: string, bytes: number | undefined, cause?: unknown) {
    super('unavailable', 'There is not enough disk space to check the upload now.', {
      cause,
      internal: `not enough space in ${folder} (UPDATES_TEMP_DIR)${bytes === undefined ? '' : ` for ${bytes} bytes`}`,
      retryAfterMs: 60_000,
    });
  }
}

/**
 * Storage of packages and firmware (rule C16). Every call ends within a bounded time. An unavailable storage is
 * DomainError `unavailable`. This service chooses the keys (domain/artifact.ts).
 */
export interface ArtifactStorage {
  /** Throws `unavailable` when the storage cannot accept an upload of that size now. */
  requireAvailable(sizeBytes: number): Promise<void>;
  /** A URL for one PUT of exactly that type and length. `startMs` is a whole second. */
  signUpload(upload: {
    key: string;
    contentType: string;
    sizeBytes: number;
    startMs: number;
    seconds: number;
  }): Promise<string>;
  /** A URL for GETs, with ranges. */
  signDownload(download: { key: string; startMs: number; seconds: number }): Promise<string>;
  /** Undefined if there is no object. */
  head(key: string): Promise<StoredObject | undefined>;
  /** The object with that tag; throws ObjectChanged, and when the signal aborts. */
  fetch(key: string, tag: string, signal?: AbortSignal): Promise<LocalCopy>;
  /**
   * Copies the object with that tag to a key for which no upload URL exists; throws ObjectChanged.
   * Repeatable.
   */
  seal(key: string, tag: string, to: string): Promise<void>;
  /** Idempotent. */
  remove(key: string): Promise<void>;
  /**
   * Removes the object if it still has that tag. A storage that cannot compare and remove in one step keeps the object.
   */
  discard(key: string, tag: string): Promise<void>;
}

/** Checks of uploaded files: outside this process, a few at a time (ADR 0042). */
export interface ContentChecks {
  /**
   * Fetches a file and checks it. Undefined: too many files wait already, in all or of this developer. Throws when the
   * file cannot be fetched or read, and `unavailable` when the service stops.
   */
  check(
    developerId: string,
    declared: Declared,
    fetch: (signal: AbortSignal) => Promise<LocalCopy>,
  ): Promise<Verdict | undefined>;
}

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

/**
 * Names of packages. A name belongs to the developer whose file was accepted first. Before that, an open upload claims
 * the name until the upload expires or its file is rejected.
 */
export interface PackageNames {
  /** The developer that owns the package, or claims it now; undefined: it is free. */
  ownerOf(packageName: string, nowMs: number): Promise<string | undefined>;
  /** Claims the package for an upload that is stored afterwards, if it is free; returns the owner. */
  claim(packageName: string, developerId: string, uploadId: string, nowMs: number): Promise<string>;
  /**
   * Permanently assigns the package to the developer if no other developer owns or claims it. Returns the owner.
   * Repeatable.
   */
  accept(packageName: string, developerId: string, nowMs: number): Promise<string>;
}

/** The catalogue: one document per artifact; each change is one conditional update. */
export interface Catalogue {
  get(id: string): Promise<Artifact | undefined>;
  /**
   * Creates the artifact as uploading, or sets a rejected artifact to uploading; with `revive` also a withdrawn
   * artifact. From then on it belongs to the developer. Returns the artifact afterwards. `record` is the audit record
   * of an operator's change.
   */
  open(artifact: OpenArtifact, nowMs: number, revive: boolean, record?: OwedRecord): Promise<Artifact>;
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
    record: OwedRecord,
  ): Promise<Artifact | undefined>;
  /** Returns undefined if the artifact does not exist. Idempotent. */
  withdraw(id: string, nowMs: number, record: OwedRecord): Promise<Artifact | undefined>;
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

/** Limits of open uploads: of a version all with a valid URL, of a developer only those without an accepted file. */
export interface UploadPlaces {
  /**
   * Reserves a place for an upload that is stored afterwards, unless the limit is reached. The limit also holds for
   * concurrent calls. A place whose upload is not stored within a minute is free again. Repeatable. Returns undefined
   * if the place is reserved.
   */
  take(
    upload: { readonly uploadId: string; readonly artifactId: string; readonly developerId: string },
    most: { readonly ofVersion: number; readonly ofDeveloper: number },
    nowMs: number,
  ): Promise<{ readonly full: 'version' | 'developer'; readonly firstEndMs: number } | undefined>;
}

/** Open uploads: one document per upload. */
export interface UploadStore {
  /** Creates the upload, or extends it. Throws `unavailable` while it is being closed. */
  open(
    upload: Omit<Upload, 'looks' | 'settled' | 'accepted' | 'rejected'>,
    firstLookMs: number,
  ): Promise<void>;
  /** Undefined if the upload is unknown, or was closed long ago. */
  get(id: string): Promise<Upload | undefined>;
  remove(id: string): Promise<void>;
  /**
   * Begins to close the upload. Until `remove` nobody can open it again, so its file can be removed. False: the upload
   * was extended in the meantime. Repeatable.
   */
  close(id: string, expiresAtMs: number): Promise<boolean>;
  /** Ids of uploads for which a check may find something new. */
  unsettled(of: { artifactId: string } | { developerId: string }, limit: number): Promise<string[]>;
  due(nowMs: number, limit: number): Promise<string[]>;
  /** Number of uploads that are due for a check, and since when the oldest is due. */
  overdue(nowMs: number): Promise<{ count: number; oldestDueAtMs: number | undefined }>;
  /**
   * Makes uploads due now if their due time is later than these times, because a wrong clock wrote it. `settledMs` is
   * for uploads that only need to be closed.
   */
  recall(nowMs: number, latest: { unsettledMs: number; settledMs: number }): Promise<void>;
  /**
   * Claims the upload for a check. Undefined: another check has it, or it no longer exists. A claim that ends after
   * `latestMs` does not count, because a wrong clock wrote it.
   */
  claim(id: string, times: { nowMs: number; untilMs: number; latestMs: number }): Promise<Upload | undefined>;
  /** Renews a claim. */
  renew(id: string, untilMs: number): Promise<void>;
  /** Releases the claim and sets the time of the next check. Keeps the earlier rejection. */
  release(
    id: string,
    next: { atMs: number; looks: number; settled: boolean; accepted?: string; rejected?: RejectedFile },
  ): Promise<void>;
}
