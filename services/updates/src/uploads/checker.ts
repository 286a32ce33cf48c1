import { type Clock, systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { Rejection } from '../apk/bounds.ts';
import type { Declared } from '../checks/check-file.ts';
import { type Artifact, checkedKey, isOwnContent, openStates, uploadKey } from '../domain/artifact.ts';
import { otherDeveloperReason } from '../domain/refusals.ts';
import { closesAtMs, lastCheckMs, maxAheadMs, nextCheckMs, type Upload } from '../domain/upload.ts';
import { type ArtifactStorage, DiskFullError, ObjectChanged } from '../ports/artifact-storage.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { ContentChecks } from '../ports/content-checks.ts';
import type { PackageNames } from '../ports/package-names.ts';
import type { UploadStore } from '../ports/upload-store.ts';

/** The result of a check. */
export type CheckOutcome =
  /** Another check of the upload is running, or the upload is closed. */
  | { readonly kind: 'busy' }
  /** There is no unchecked file. `known` is the result of the last check of a file. */
  | { readonly kind: 'absent'; readonly known?: KnownResult }
  /** Too many files wait for their check. A later check handles this file. */
  | { readonly kind: 'waits' }
  /** The file was replaced during the check. The next check reads the new file. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'deliverable'; readonly tag: string }
  | ({ readonly kind: 'rejected'; readonly tag: string } & Rejection)
  /** Another upload of the version was first, or the version was withdrawn. */
  | { readonly kind: 'superseded' };

/** Result of an earlier check of a file. */
export type KnownResult =
  /** `tag`: tag of the accepted file. Absent if the process died before it stored the tag. */
  | { readonly kind: 'deliverable'; readonly tag?: string }
  | { readonly kind: 'superseded' }
  | { readonly kind: 'rejected'; readonly reason: string };

export interface CheckerDependencies {
  readonly packages: PackageNames;
  readonly catalogue: Catalogue;
  readonly uploads: UploadStore;
  readonly storage: ArtifactStorage;
  readonly contents: ContentChecks;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly leaseMs: number;
  /** How long a URL is valid. The upload stays open for the same time after that. */
  readonly lifetimeMs: number;
  readonly onOutcome: (outcome: CheckOutcome) => void;
  readonly onDiskFull: () => void;
  readonly time?: Time;
}

const noFileReason = 'No file was uploaded before the URL expired.';

/** True if every further file of the upload has no effect. */
export function acceptsNoFile(upload: Upload, artifact: Artifact): boolean {
  const { accepted } = upload;
  return (
    accepted !== undefined ||
    !openStates.includes(artifact.state) ||
    (upload.withdrawals ?? 0) !== artifact.withdrawals
  );
}

/** Checks one upload. Calls `onFile` before it reads a file, which may take long. */
export type Checker = (uploadId: string, onFile?: () => void) => Promise<CheckOutcome>;

/**
 * Checks one upload, and makes its artifact deliverable or rejected if a file has arrived. Every step can be repeated.
 * After a crash at any step the next check, perhaps in another instance, completes the work. Throws `unavailable` while
 * the storage is unavailable.
 */
export function createChecker(deps: CheckerDependencies): Checker {
  const { packages, catalogue, uploads, storage, contents, clock, logger } = deps;
  const { time = systemTime } = deps;
  /** Uploads that this instance is checking. */
  const running = new Set<string>();

  async function checkFile(upload: Upload, onFile: () => void): Promise<CheckOutcome> {
    const key = uploadKey(upload.id);
    const { rejected } = upload;
    const [artifact, object] = await Promise.all([catalogue.get(upload.artifactId), storage.head(key)]);
    const nothingNew = !object || object.tag === rejected?.tag;
    if (!artifact || acceptsNoFile(upload, artifact)) {
      if (object) await storage.remove(key);
      const { accepted } = upload;
      const isOwn = artifact?.state === 'deliverable' && isOwnContent(artifact, upload.id);
      if (nothingNew || accepted === object.tag) {
        const known = isOwn
          ? ({ kind: 'deliverable', ...(accepted && { tag: accepted }) } as const)
          : ({ kind: 'superseded' } as const);
        return { kind: 'absent', known };
      }
      // A later file has no effect. If no tag is stored, an earlier check accepted this file and died before it
      // stored the tag.
      return isOwn && !accepted ? { kind: 'deliverable', tag: object.tag } : { kind: 'superseded' };
    }
    if (nothingNew) {
      return { kind: 'absent', ...(rejected && { known: { kind: 'rejected', reason: rejected.reason } }) };
    }
    const { tag } = object;
    if (object.sizeBytes !== upload.sizeBytes) {
      const reason = `It has ${object.sizeBytes} bytes, not ${upload.sizeBytes} as was requested.`;
      return reject(upload, tag, { rule: 'size', reason });
    }
    onFile();
    const { kind, package: name, version } = artifact;
    const declared: Declared = kind === 'software' ? { kind, package: name, version } : { kind };
    const verdict = await contents.check(upload.developerId, declared, (signal) =>
      storage.fetch(key, tag, signal),
    );
    if (!verdict) return { kind: 'waits' };
    if ('rejection' in verdict) return reject(upload, tag, verdict.rejection);
    const { sha256 } = verdict;
    const objectKey = checkedKey(upload.id, sha256);
    await storage.copyChecked(key, tag, objectKey);
    const { developerId } = upload;
    // Assigns the package before the version becomes deliverable. So a version never becomes deliverable in a package
    // of another developer.
    if (kind === 'software' && (await packages.accept(name, developerId, clock.now())) !== developerId) {
      await removeUnused(artifact.id, objectKey);
      return reject(upload, tag, { rule: 'other_developer', reason: otherDeveloperReason(name) });
    }
    const content = { developerId, objectKey, sizeBytes: object.sizeBytes, sha256 };
    const won = await catalogue.deliver(artifact.id, artifact.withdrawals, content, clock.now());
    if (won) logger.info({ artifact: artifact.id, sizeBytes: object.sizeBytes }, 'an upload is deliverable');
    const current = won ? undefined : await catalogue.get(artifact.id);
    // Another instance may have taken over this check and finished first with the same content.
    const isOwn = won || current?.objectKey === objectKey;
    if (!isOwn) await storage.remove(objectKey);
    await storage.remove(key);
    const accepted = won || (isOwn && current?.state === 'deliverable');
    return accepted ? { kind: 'deliverable', tag } : { kind: 'superseded' };
  }

  /**
   * Removes a copy unless it is the artifact's content: another instance may have taken over this check and finished
   * first with the same content.
   */
  async function removeUnused(id: string, objectKey: string): Promise<void> {
    if ((await catalogue.get(id))?.objectKey !== objectKey) await storage.remove(objectKey);
  }

  async function reject(upload: Upload, tag: string, rejection: Rejection): Promise<CheckOutcome> {
    await catalogue.reject(upload.artifactId, upload.id, rejection.reason, clock.now());
    logger.info({ artifact: upload.artifactId, reason: rejection.reason }, 'an upload was rejected');
    return { kind: 'rejected', tag, ...rejection };
  }

  /** Stores the outcome. Closes the upload, or sets the time of its next check. */
  async function settle(upload: Upload, outcome: CheckOutcome): Promise<void> {
    const now = clock.now();
    const closes = closesAtMs(upload, deps.lifetimeMs);
    if (outcome.kind === 'absent' && now >= upload.expiresAtMs) {
      await catalogue.expire(upload.artifactId, upload.id, noFileReason, now);
    }
    const settledNow = outcome.kind === 'deliverable' || outcome.kind === 'superseded';
    const absent = outcome.kind === 'absent';
    // After any other outcome a newer file may have arrived, which must be checked first.
    const mayClose = now >= closes && (absent || settledNow);
    if (mayClose && (await uploads.close(upload.id, upload.expiresAtMs))) {
      await storage.remove(uploadKey(upload.id));
      return uploads.remove(upload.id);
    }
    const settled = absent ? upload.settled : settledNow;
    const looks = absent || outcome.kind === 'waits' ? upload.looks + 1 : 0;
    const atMs = (settled ? lastCheckMs : nextCheckMs)({ ...upload, looks }, now, deps.lifetimeMs);
    const accepted = outcome.kind === 'deliverable' && { accepted: outcome.tag };
    if (outcome.kind !== 'rejected') {
      return uploads.release(upload.id, { atMs, looks, settled, ...accepted });
    }
    // The stored tag prevents another check of this file. The file is removed only if it still has this tag, because a
    // newer file may have replaced it.
    const { tag, reason } = outcome;
    await uploads.release(upload.id, { atMs, looks, settled, rejected: { tag, reason } });
    await storage.discard(uploadKey(upload.id), tag);
  }

  async function claimAndCheck(uploadId: string, onFile: () => void): Promise<CheckOutcome> {
    const nowMs = clock.now();
    const latestMs = nowMs + maxAheadMs(deps.leaseMs);
    const upload = await uploads.claim(uploadId, { nowMs, untilMs: nowMs + deps.leaseMs, latestMs });
    if (!upload) return { kind: 'busy' };
    const renewal = time.setInterval(() => {
      uploads
        .renew(uploadId, clock.now() + deps.leaseMs)
        .catch((error) => logger.warn({ err: error }, 'the claim of an upload could not be renewed'));
    }, deps.leaseMs / 3);
    try {
      const outcome = await checkFile(upload, onFile).catch((error): CheckOutcome => {
        if (error instanceof ObjectChanged) return { kind: 'changed' };
        throw error;
      });
      time.clearTimer(renewal);
      await settle(upload, outcome);
      deps.onOutcome(outcome);
      return outcome;
    } catch (error) {
      time.clearTimer(renewal);
      if (error instanceof DiskFullError) deps.onDiskFull();
      const looks = upload.looks + 1;
      const atMs = nextCheckMs({ ...upload, looks }, clock.now(), deps.lifetimeMs);
      await uploads.release(uploadId, { atMs, looks, settled: false });
      throw error;
    }
  }

  return async (uploadId, onFile = () => {}) => {
    // The claim does not prevent a second check here: it may have expired, or may seem to come from a wrong clock.
    if (running.has(uploadId)) return { kind: 'busy' };
    running.add(uploadId);
    try {
      return await claimAndCheck(uploadId, onFile);
    } finally {
      running.delete(uploadId);
    }
  };
}
