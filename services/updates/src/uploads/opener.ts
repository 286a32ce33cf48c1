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
import type { UploadPlaces } from '../ports/upload-places.ts';
import type { UploadStore } from '../ports/upload-store.ts';

export interface OpenerDependencies {
  readonly catalogue: Catalogue;
  readonly uploads: UploadStore;
  readonly places: UploadPlaces;
  readonly storage: ArtifactStorage;
  readonly clock: Clock;
  /** How long an upload URL is valid; seconds. */
  readonly urlSeconds: number;
}

/** The artifact that an upload is for. */
export interface WantedUpload {
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

/** Most open uploads of one version. */
const mostOpen = 20;
/** Most open uploads of one developer, in all. */
const mostOfDeveloper = 200;
const firstLookAfterMs = 500;

/** Opens uploads and signs their URLs. */
export interface Opener {
  /**
   * Reserves a place for the upload, which is opened or signed afterwards. Throws `too_many_requests` when too many
   * other uploads of the version or of the developer are open.
   */
  takePlace(wanted: WantedUpload): Promise<void>;
  /**
   * Stores the expected upload, then sets its artifact to uploading. Repeatable. Returns the artifact. If its state is
   * not uploading, no upload is needed. With `revive` a withdrawn artifact is opened, too. `record` is the audit record
   * of an operator's change. Throws `unavailable`; then nothing is stored.
   */
  open(wanted: WantedUpload, revive: boolean, record?: PendingAuditRecord): Promise<Artifact>;
  /** A URL for the upload, valid from now on. The upload stays open for as long. */
  sign(wanted: WantedUpload): Promise<SignedUpload>;
}

export function createOpener(deps: OpenerDependencies): Opener {
  const { catalogue, uploads, places, storage, clock, urlSeconds } = deps;

  async function expect(wanted: WantedUpload, expiresAtMs: number): Promise<void> {
    const { uploadId: id, name, developerId, sizeBytes } = wanted;
    // Read before the upload is stored: after a withdrawal in between, the upload has no effect.
    const { withdrawals = 0 } = (await catalogue.get(artifactId(name))) ?? {};
    const upload = { id, artifactId: artifactId(name), developerId, sizeBytes, expiresAtMs, withdrawals };
    await uploads.open(upload, clock.now() + firstLookAfterMs);
  }

  return {
    async takePlace({ uploadId, name, developerId }) {
      const now = clock.now();
      const upload = { uploadId, artifactId: artifactId(name), developerId };
      const refused = await places.take(upload, { ofVersion: mostOpen, ofDeveloper: mostOfDeveloper }, now);
      if (!refused) return;
      const retryAfterMs = refused.firstEndMs - now;
      if (refused.full === 'version') throw refusals.tooManyUploads(mostOpen, retryAfterMs);
      throw refusals.tooManyOfDeveloper(mostOfDeveloper, retryAfterMs);
    },

    async open(wanted, revive, record) {
      const { uploadId, name, developerId, sizeBytes } = wanted;
      const now = clock.now();
      // Stores the upload first, because an artifact without an upload would wait forever.
      await expect(wanted, now + urlSeconds * 1000);
      const opened = { name, developerId, sizeBytes, uploadId };
      const artifact = await catalogue.open(opened, now, revive, record);
      if (artifact.state !== 'uploading') await uploads.remove(uploadId);
      return artifact;
    },

    async sign(wanted) {
      // Signatures have whole seconds.
      const startMs = Math.floor(clock.now() / 1000) * 1000;
      const endMs = startMs + urlSeconds * 1000;
      await expect(wanted, endMs);
      const { name, uploadId, sizeBytes } = wanted;
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
