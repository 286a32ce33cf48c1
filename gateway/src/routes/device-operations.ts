import type { GatewayClients } from '../clients.ts';
import { transactionCreated } from './encode.ts';
import { operate } from './operate.ts';
import type { Handlers } from './types.ts';

/** Uninstalling an app, and resetting the headset. */
export function deviceOperationHandlers({ devices }: Pick<GatewayClients, 'devices'>): Handlers {
  return {
    'delete-v1-applications-devices-package': (call) =>
      operate(devices, call, {
        case: 'uninstall',
        value: { package: call.package },
      }),

    'put-v1-applications-devices-reset': async ({ applicationId, deviceId, caller }) => {
      const { transactionId } = await devices.resetDevice({ caller, deviceId });
      return transactionCreated(applicationId, transactionId);
    },
  };
}
