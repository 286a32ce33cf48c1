import type { Clock } from '@headset-cloud/runtime/clock.ts';
import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';
import type { GatewayClients } from '../clients.ts';
import { activationHandlers } from './activation.ts';
import { applicationHandlers } from './applications.ts';
import { billingHandlers } from './billing.ts';
import { commandHandlers } from './commands.ts';
import { communicationHandlers } from './communication.ts';
import { connectivityHandlers } from './connectivity.ts';
import { deliveryHandlers } from './deliveries.ts';
import { deviceOperationHandlers } from './device-operations.ts';
import { deviceStatusHandlers } from './device-statuses.ts';
import { eventTypeHandlers } from './event-types.ts';
import { eventHandlers } from './events.ts';
import { extensionSettingsHandlers } from './extension-settings.ts';
import { hardwareHandlers } from './hardware.ts';
import { settingsHandlers } from './settings.ts';
import { statusHandlers } from './status.ts';
import { testCallbackHandlers } from './test-callbacks.ts';
import { transactionHandlers } from './transactions.ts';
import type { Handlers } from './types.ts';
import { updateHandlers } from './updates.ts';

/** Every handler by operationId, grouped by the service that it calls. The document defines the paths. */
export function createHandlers(
  clients: GatewayClients,
  clock: Clock,
): Readonly<Partial<Record<ServiceName, Handlers>>> {
  return {
    devices: {
      ...applicationHandlers(clients),
      ...extensionSettingsHandlers(clients),
      ...activationHandlers(clients),
      ...statusHandlers(clients),
      ...hardwareHandlers(clients),
      ...settingsHandlers(clients),
      ...commandHandlers(clients),
      ...deviceOperationHandlers(clients),
      ...deviceStatusHandlers(clients),
    },
    updates: updateHandlers(clients),
    connectivity: connectivityHandlers(clients),
    transactions: transactionHandlers(clients),
    communication: communicationHandlers(clients),
    billing: billingHandlers(clients),
    notifier: {
      ...eventTypeHandlers(),
      ...eventHandlers(clients),
      ...deliveryHandlers(clients),
      ...testCallbackHandlers(clients, clock),
    },
  };
}
