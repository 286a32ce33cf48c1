import type { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { Idempotency } from '@headset-cloud/rules/idempotency.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { ActivationDependencies } from '../activation/dependencies.ts';
import type { EndpointRules } from '../domain/settings.ts';
import type { LimitsReader } from '../limits.ts';
import type { DevicesMetrics } from '../metrics.ts';
import type { ApplicationStore } from '../ports/application-store.ts';
import type { DeveloperStore } from '../ports/developer-store.ts';
import type { DeviceReader } from '../ports/device-reader.ts';
import type { HardwareModelStore } from '../ports/hardware-model-store.ts';
import type { HeadsetKeyStore } from '../ports/headset-key-store.ts';

/** Dependencies of the handlers. */
export interface HandlerDependencies {
  readonly activation: ActivationDependencies;
  readonly applications: ApplicationStore;
  readonly developers: DeveloperStore;
  readonly reader: DeviceReader;
  readonly keys: HeadsetKeyStore;
  readonly transactions: Client<typeof TransactionsService>;
  readonly hardwareModels: HardwareModelStore;
  readonly signedUrls: Client<typeof SignedUrlsService>;
  /** Largest file that a headset may upload. */
  readonly fileUploadLimitBytes: number;
  readonly endpointRules: EndpointRules;
  readonly metrics: DevicesMetrics;
  readonly idempotency: Idempotency;
  readonly secrets: SecretBox;
  readonly audit: Audit;
  readonly limits: LimitsReader;
}
