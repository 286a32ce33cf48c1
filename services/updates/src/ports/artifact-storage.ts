import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { LocalCopy } from './local-copy.ts';

/** A stored object. `tag` identifies its content: it changes whenever the object is written. */
export interface StoredObject {
  readonly sizeBytes: number;
  readonly tag: string;
}

/** The object was replaced or removed between two steps of a check. The check must be repeated. */
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
 * Storage of packages and firmware (rule C16). Every call ends within a bounded time. Calls throw DomainError
 * `unavailable` while the storage is unavailable. Keys come from domain/artifact.ts.
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
   * Copies the object with that tag to a key for which no upload URL exists, so that the copy never changes. Throws
   * ObjectChanged. Repeatable.
   */
  copyChecked(key: string, tag: string, to: string): Promise<void>;
  /** Idempotent. */
  remove(key: string): Promise<void>;
  /**
   * Removes the object if it still has that tag. A storage that cannot compare and remove atomically keeps the object.
   */
  discard(key: string, tag: string): Promise<void>;
}
