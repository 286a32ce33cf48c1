import type { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import type { Client } from '@headset-cloud/rpc/types.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import type { ActivationStore } from '../ports/activation-store.ts';
import type { ApplicationStore } from '../ports/application-store.ts';
import type { ContractStore } from '../ports/contract-store.ts';
import type { SlotStore } from '../ports/slot-store.ts';
import type { LifecycleEvents } from './lifecycle.ts';

/** Dependencies of activation, deactivation and reset. */
export interface ActivationDependencies {
  readonly devices: ActivationStore;
  readonly contracts: ContractStore;
  readonly slots: SlotStore;
  readonly applications: ApplicationStore;
  readonly transactions: Pick<Client<typeof TransactionsService>, 'createTransaction' | 'endActivation'>;
  /** Opens a sealed client secret. */
  readonly openClientSecret: (deviceId: string, sealed: string) => string;
  readonly lifecycle: LifecycleEvents;
  readonly clock: Clock;
  readonly logger: Logger;
}
