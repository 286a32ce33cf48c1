import type { GatewayClients } from '../clients.ts';
import { activationHandlers } from './activation.ts';
import { applicationHandlers } from './applications.ts';
import { commandHandlers } from './commands.ts';
import { statusHandlers } from './status.ts';
import { transactionHandlers } from './transactions.ts';
import type { Handlers } from './types.ts';

/** Every handler by operationId; the document decides which paths lead to them. */
export function createHandlers(clients: GatewayClients): Handlers {
  return {
    ...applicationHandlers(clients),
    ...activationHandlers(clients),
    ...statusHandlers(clients),
    ...commandHandlers(clients),
    ...transactionHandlers(clients),
  };
}
