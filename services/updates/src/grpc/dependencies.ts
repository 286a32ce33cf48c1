import type { ApplicationsService, DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { Idempotency } from '@headset-cloud/rules/idempotency.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { ArtifactStorage } from '../ports/artifact-storage.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { PackageNames } from '../ports/package-names.ts';
import type { CheckNow } from '../uploads/check-now.ts';
import type { Opener } from '../uploads/opener.ts';

/** Dependencies of the handlers. */
export interface HandlerDependencies {
  readonly packages: PackageNames;
  readonly catalogue: Catalogue;
  readonly storage: ArtifactStorage;
  readonly opener: Opener;
  readonly checkNow: CheckNow;
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
