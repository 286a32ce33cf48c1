import type { DevicesAdminService } from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Handlers } from '@headset-cloud/rpc/types.ts';
import type { Audit } from '@headset-cloud/rules/audit/outbox.ts';
import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { ApplicationStore } from '../ports/application-store.ts';
import type { ContractStore } from '../ports/contract-store.ts';
import type { DeveloperStore } from '../ports/developer-store.ts';
import type { DeviceRegistry } from '../ports/device-registry.ts';
import type { HardwareModelStore } from '../ports/hardware-model-store.ts';
import type { HeadsetKeyStore } from '../ports/headset-key-store.ts';
import type { SlotStore } from '../ports/slot-store.ts';

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
