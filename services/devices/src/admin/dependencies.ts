import type { DevicesAdminService } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type {
  ApplicationStore,
  ContractStore,
  DeveloperStore,
  DeviceRegistry,
  HardwareModelStore,
  HeadsetKeyStore,
  SlotStore,
} from '../ports.ts';

/** Dependencies of the operators' listener. */
export interface AdminDependencies {
  readonly developers: DeveloperStore;
  readonly applications: ApplicationStore;
  readonly contracts: ContractStore;
  readonly slots: SlotStore;
  readonly registry: DeviceRegistry;
  readonly keys: HeadsetKeyStore;
  readonly hardwareModels: HardwareModelStore;
  readonly clock: Clock;
  readonly audit: Audit;
}

export type AdminHandlers = Handlers<typeof DevicesAdminService>;
