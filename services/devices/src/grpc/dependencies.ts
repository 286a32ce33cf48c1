import type { Idempotency } from '@headset-cloud/kit/idempotency.ts';
import type { Client } from '@headset-cloud/kit/rpc/types.ts';
import type { SecretBox } from '@headset-cloud/kit/secrets.ts';
import type { TransactionsService } from '@headset-cloud/proto/headset/transactions/v1/service_pb.ts';
import type { ActivationDependencies } from '../activation/dependencies.ts';
import type { ApplicationStore, DeveloperStore, DeviceReader } from '../ports.ts';

/** What the handlers work with. */
export interface HandlerDependencies {
  readonly activation: ActivationDependencies;
  readonly applications: ApplicationStore;
  readonly developers: DeveloperStore;
  readonly reader: DeviceReader;
  readonly transactions: Client<typeof TransactionsService>;
  readonly idempotency: Idempotency;
  readonly secrets: SecretBox;
}
