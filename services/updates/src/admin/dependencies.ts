import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { ArtifactStorage } from '../ports/artifact-storage.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { CheckNow } from '../uploads/check-now.ts';
import type { Opener } from '../uploads/opener.ts';

/** Dependencies of the operators' listener. */
export interface AdminDependencies {
  readonly catalogue: Catalogue;
  readonly uploads: UploadStore;
  readonly storage: ArtifactStorage;
  readonly opener: Opener;
  readonly checkNow: CheckNow;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly maxBytes: number;
}
