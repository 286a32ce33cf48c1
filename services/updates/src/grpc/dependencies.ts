import type { Audit } from '@headset-cloud/kit/audit/outbox.ts';
import type { Clock } from '@headset-cloud/kit/clock.ts';
import type { Idempotency } from '@headset-cloud/kit/idempotency.ts';
import type { Logger } from '@headset-cloud/kit/logger.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { SecretBox } from '@headset-cloud/kit/secrets.ts';
import type { ApplicationsService, DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { ArtifactStorage, Catalogue, PackageNames } from '../ports.ts';
import type { LookNow } from '../uploads/looker.ts';
import type { Opener } from '../uploads/opener.ts';

/** Dependencies of the handlers. */
export interface HandlerDependencies {
  readonly packages: PackageNames;
  readonly catalogue: Catalogue;
  readonly storage: ArtifactStorage;
  readonly opener: Opener;
  readonly lookNow: LookNow;
  readonly applications: Client<typeof ApplicationsService>;
  readonly devices: Client<typeof DevicesService>;
  readonly idempotency: Idempotency;
  readonly audit: Audit;
  readonly logger: Logger;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly limits: {
    readonly vendorPrefix: string;
    readonly maxBytes: number;
    readonly downloadSeconds: number;
  };
}
