import type { PendingAuditRecord } from '@headset-cloud/rules/audit/record.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import {
  type Artifact,
  type ArtifactName,
  artifactId,
  contentTypeOf,
  uploadKey,
} from '../domain/artifact.ts';
import { refusals } from '../domain/refusals.ts';
import type { ArtifactStorage } from '../ports/artifact-storage.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { UploadReservations } from '../ports/upload-reservations.ts';
import type { UploadStore } from '../ports/upload-store.ts';

export interface OpenerDependencies {
  readonly catalogue: Catalogue;
  readonly uploads: UploadStore;
  readonly reservations: UploadReservations;
  readonly storage: ArtifactStorage;
  readonly clock: Clock;
  /** How long an upload URL is valid; seconds. */
  readonly urlSeconds: number;
}

/** Data of a requested upload. */
export interface UploadRequest {
  readonly uploadId: string;
  readonly name: ArtifactName;
  /** Empty for firmware. */
  readonly developerId: string;
  readonly sizeBytes: number;
}

export interface SignedUpload {
  readonly url: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** Maximum open uploads of one version. */
const maxOpenOfVersion = 20;
/** Maximum open uploads of one developer. */
const maxOpenOfDeveloper = 200;
const firstCheckAfterMs = 500;

/** Opens uploads and signs their URLs. */
export interface Opener {
  /**
   * Reserves capacity for an upload that is opened or signed afterwards. Throws `too_many_requests` if too many other
   * uploads of the version or of the developer are open.
   */
  reserve(request: UploadRequest): Promise<void>;
  /**
   * Stores the expected upload, then sets its artifact to uploading. Repeatable. Returns the artifact. If its state
   * is not uploading, no upload is needed. With `reopenWithdrawn` a withdrawn artifact is opened, too. `record` is
   * the audit record of an operator's change. Throws `unavailable`; then nothing is stored.
   */
  open(request: UploadRequest, reopenWithdrawn: boolean, record?: PendingAuditRecord): Promise<Artifact>;
  /** Returns a URL for the upload, valid from now on. The upload stays open at least until the URL expires. */
  sign(request: UploadRequest): Promise<SignedUpload>;
}

export function createOpener(deps: OpenerDependencies): Opener {
  const { catalogue, uploads, reservations, storage, clock, urlSeconds } = deps;

  async function storeUpload(request: UploadRequest, expiresAtMs: number): Promise<void> {
    const { uploadId: id, name, developerId, sizeBytes } = request;
    // Read before the upload is stored. If the version is withdrawn in between, the upload has no effect.
    const { withdrawals = 0 } = (await catalogue.get(artifactId(name))) ?? {};
    const upload = { id, artifactId: artifactId(name), developerId, sizeBytes, expiresAtMs, withdrawals };
    await uploads.open(upload, clock.now() + firstCheckAfterMs);
  }

  return {
    async reserve({ uploadId, name, developerId }) {
      const now = clock.now();
      const upload = { uploadId, artifactId: artifactId(name), developerId };
      const reached = await reservations.reserve(
        upload,
        { ofVersion: maxOpenOfVersion, ofDeveloper: maxOpenOfDeveloper },
        now,
      );
      if (!reached) return;
      const retryAfterMs = reached.firstEndMs - now;
      if (reached.full === 'version') throw refusals.tooManyUploads(maxOpenOfVersion, retryAfterMs);
      throw refusals.tooManyOfDeveloper(maxOpenOfDeveloper, retryAfterMs);
    },

    async open(request, reopenWithdrawn, record) {
      const { uploadId, name, developerId, sizeBytes } = request;
      const now = clock.now();
      // Stores the upload first, because an artifact without an upload would wait forever.
      await storeUpload(request, now + urlSeconds * 1000);
      const opened = { name, developerId, sizeBytes, uploadId };
      const artifact = await catalogue.open(opened, now, reopenWithdrawn, record);
      if (artifact.state !== 'uploading') await uploads.remove(uploadId);
      return artifact;
    },

    async sign(request) {
      // Signatures have whole seconds.
      const startMs = Math.floor(clock.now() / 1000) * 1000;
      const endMs = startMs + urlSeconds * 1000;
      await storeUpload(request, endMs);
      const { name, uploadId, sizeBytes } = request;
      const url = await storage.signUpload({
        key: uploadKey(uploadId),
        contentType: contentTypeOf(name.kind),
        sizeBytes,
        startMs,
        seconds: urlSeconds,
      });
      return { url, startMs, endMs };
    },
  };
}
