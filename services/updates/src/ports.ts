import type { OwedRecord } from '@headset-cloud/kit/audit/record.ts';
import { DomainError } from '@headset-cloud/kit/errors.ts';
import type { Declared, Verdict } from './checks/check-file.ts';
import type { Artifact, ArtifactName } from './domain/artifact.ts';
import type { RejectedFile, Upload } from './domain/upload.ts';

/** A stored object; `tag` changes with its content. */
export interface StoredObject {
  readonly sizeBytes: number;
  readonly tag: string;
}

/** An object's content as a file of this machine. */
export interface LocalCopy {
  readonly path: string;
  dispose(): Promise<void>;
}

/** The content of an object changed between two steps: the check must be repeated. */
export class ObjectChanged extends Error {}

/** The disk of the folder in which an upload is checked is full: the check is repeated later. */
export class NoRoomError extends DomainError {
  /** `bytes`: what would have been needed, where that is known. */
  constructor(folder: string, bytes: number | undefined, cause?: unknown) {
    super('unavailable', 'There is no room to check the upload at the moment.', {
      cause,
      internal: `no room in ${folder} (UPDATES_TEMP_DIR)${bytes === undefined ? '' : ` for ${bytes} bytes`}`,
      retryAfterMs: 60_000,
    });
  }
}

/**
 * Storage of packages and firmware (rule C16). Every call ends within a bounded time; unavailable storage
 * is DomainError `unavailable`. This service makes the keys (domain/artifact.ts).
 */
export interface ArtifactStorage {
  /** Throws `unavailable` when an upload of that size cannot be taken now. */
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
  /** Undefined: there is no object. */
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
   * Removes the object if it still has that tag. A storage that cannot compare and remove in one step keeps
   * it.
   */
  discard(key: string, tag: string): Promise<void>;
}

/** Checks of files that others have made: outside this process, a few at a time (ADR 0042). */
export interface ContentChecks {
  /**
   * Fetches a file and checks it. Undefined: too many wait already, of all or of this developer. Throws when
   * it cannot be fetched or read, and `unavailable` when the service stops.
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
 * Names of packages: a name belongs to the developer whose file was accepted first. Before that an open
 * upload claims it, until it expires or its file is refused.
 */
export interface PackageNames {
  /** The developer that owns the package, or claims it now; undefined: it is free. */
  ownerOf(packageName: string, nowMs: number): Promise<string | undefined>;
  /** Claims the package for an upload that is stored afterwards, if it is free; returns the owner. */
  claim(packageName: string, developerId: string, uploadId: string, nowMs: number): Promise<string>;
  /** Gives the package to the developer for good if nobody else owns or claims it; returns the owner. Repeatable. */
  accept(packageName: string, developerId: string, nowMs: number): Promise<string>;
}

/** The catalogue: one document per artifact; each change is one conditional update. */
export interface Catalogue {
  get(id: string): Promise<Artifact | undefined>;
  /**
   * Creates the artifact as uploading, or sets a rejected one to uploading; with `revive` also a withdrawn
   * one. It is the developer's from then on. Returns the artifact afterwards. An operator's owes the record.
   */
  open(artifact: OpenArtifact, nowMs: number, revive: boolean, record?: OwedRecord): Promise<Artifact>;
  /**
   * Makes it the developer's and deliverable, only while it is open and has those withdrawals (domain/artifact.ts).
   * False: another upload won, or it was withdrawn.
   */
  deliver(
    id: string,
    withdrawals: number,
    content: { developerId: string; objectKey: string; sizeBytes: number; sha256: string },
    nowMs: number,
  ): Promise<boolean>;
  /** Rejects it, only while it is open and this is its newest upload. */
  reject(id: string, uploadId: string, reason: string, nowMs: number): Promise<void>;
  /** Rejects it, only while it is uploading and this is its newest upload. */
  expire(id: string, uploadId: string, reason: string, nowMs: number): Promise<void>;
  /**
   * Notes that an update is sent with this content, before it is: then its developer cannot withdraw it any more.
   * False: it is not deliverable with this content any more.
   */
  name(id: string, objectKey: string): Promise<boolean>;
  /**
   * Takes the developer's version back to before its upload, only while it is deliverable, no update was ever sent
   * with it, and it has those withdrawals. Returns it as it was; undefined: nothing was changed.
   */
  takeBack(
    id: string,
    of: { readonly developerId: string; readonly withdrawals: number },
    nowMs: number,
    record: OwedRecord,
  ): Promise<Artifact | undefined>;
  /** Undefined: it does not exist. Idempotent. */
  withdraw(id: string, nowMs: number, record: OwedRecord): Promise<Artifact | undefined>;
  /** A developer's deliverable software, by package, newest version first. */
  listDeliverable(query: {
    developerId: string;
    package: string;
    latest: boolean;
    offset: number;
    limit: number;
  }): Promise<Page>;
  /** Newest first. */
  listFirmware(): Promise<readonly { package: string; version: string }[]>;
  list(query: { kind?: 'software' | 'firmware'; package: string; limit: number }): Promise<Artifact[]>;
}

/** How many uploads may be open: with a URL that is valid, and of a developer only those without an accepted file. */
export interface UploadPlaces {
  /**
   * Takes a place for an upload that is stored afterwards, unless as many others have theirs; also for calls at once.
   * A place whose upload is not stored within a minute is free again. Repeatable. Undefined: it has its place.
   */
  take(
    upload: { readonly uploadId: string; readonly artifactId: string; readonly developerId: string },
    most: { readonly ofVersion: number; readonly ofDeveloper: number },
    nowMs: number,
  ): Promise<{ readonly full: 'version' | 'developer'; readonly firstEndMs: number } | undefined>;
}

/** Open uploads: one document per upload. */
export interface UploadStore {
  /** Creates it, or keeps it open for longer. Throws `unavailable` while it is being closed. */
  open(
    upload: Omit<Upload, 'looks' | 'settled' | 'accepted' | 'rejected'>,
    firstLookMs: number,
  ): Promise<void>;
  /** Undefined: it is not known, or closed for long. */
  get(id: string): Promise<Upload | undefined>;
  remove(id: string): Promise<void>;
  /**
   * Begins to close it: until `remove` nobody opens it again, so that its file can be removed. False: it has
   * been kept open for longer. Repeatable.
   */
  close(id: string, expiresAtMs: number): Promise<boolean>;
  /** Ids of uploads at which a check may find something new. */
  unsettled(of: { artifactId: string } | { developerId: string }, limit: number): Promise<string[]>;
  due(nowMs: number, limit: number): Promise<string[]>;
  /** How many uploads are due for a check, and since when the oldest is. */
  overdue(nowMs: number): Promise<{ count: number; oldestDueAtMs: number | undefined }>;
  /**
   * Makes uploads that are due later than that due now: a wrong clock wrote the time. `settledMs` is for
   * uploads that are only to be closed.
   */
  recall(nowMs: number, latest: { unsettledMs: number; settledMs: number }): Promise<void>;
  /**
   * Claims it for a check; undefined: another check has it, or it is gone. A claim that ends after
   * `latestMs` does not count: a wrong clock wrote it.
   */
  claim(id: string, times: { nowMs: number; untilMs: number; latestMs: number }): Promise<Upload | undefined>;
  /** Renews a claim. */
  renew(id: string, untilMs: number): Promise<void>;
  /** Releases the claim and sets the time of the next check; keeps what was rejected before. */
  release(
    id: string,
    next: { atMs: number; looks: number; settled: boolean; accepted?: string; rejected?: RejectedFile },
  ): Promise<void>;
}
