import type { Audit } from '@headset-cloud/kit/audit/outbox.ts';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { ArtifactStorage, Catalogue, UploadStore } from '../ports.ts';
import type { LookNow } from '../uploads/looker.ts';
import type { Opener } from '../uploads/opener.ts';

/** Dependencies of the operators' listener. */
export interface AdminDependencies {
  readonly catalogue: Catalogue;
  readonly uploads: UploadStore;
  readonly storage: ArtifactStorage;
  readonly opener: Opener;
  readonly lookNow: LookNow;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly maxBytes: number;
}
