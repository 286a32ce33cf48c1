import { TransactionsService } from '@headset-cloud/proto/transactions/v1/service_pb.ts';
import { createClient } from '@headset-cloud/rpc/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { ActivationDependencies } from '../activation/dependencies.ts';
import { createActivationStore } from '../store/activations.ts';
import { createApplicationStore } from '../store/applications.ts';
import { createContractStore } from '../store/contracts.ts';
import { type ApplicationDocument, collections, type DeviceDocument } from '../store/documents.ts';
import { createSlotStore } from '../store/slots.ts';
import type { World } from './world.ts';

/** Dependencies of a call on the world's database, so that a test can act between two of its reads and writes. */
export function activationDependencies(world: World): ActivationDependencies {
  const { store, channel } = world;
  const clock = { now: () => world.nowMs };
  const devices = store.collection<DeviceDocument>(collections.devices);
  return {
    ...{ clock, openClientSecret: () => '' },
    devices: createActivationStore(devices, clock, 10_000),
    contracts: createContractStore(
      store.collection(collections.contracts),
      store.collection(collections.contractDevices),
    ),
    slots: createSlotStore(devices),
    applications: createApplicationStore(
      store.collection<ApplicationDocument>(collections.applications),
      createSecretBox('s'.repeat(32)),
    ),
    transactions: createClient(TransactionsService, channel),
    lifecycle: { publish: async () => {}, publishInBackground: () => {}, drain: async () => {} },
    logger: createLogger({ service: 'devices', level: 'silent' }),
  };
}
