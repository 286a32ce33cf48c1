import type { GatewayClients } from '../clients.ts';
import { transactionCreated } from './encode.ts';
import type { Handlers } from './types.ts';

type ActivationBody =
  | { readonly clientId: string }
  | { readonly mimiClientId: string; readonly mimiClientSecret?: string };

/** Activation of devices (rule C13, rule A7). */
export function activationHandlers({ devices }: Pick<GatewayClients, 'devices'>): Handlers {
  return {
    'get-v1-applications-devices': async ({ applicationId, deviceId }) => {
      const activation = await devices.getActivation({ applicationId, deviceId });
      return {
        status: 200,
        json: {
          deviceId,
          activated: activation.activated,
          clientId: activation.activated ? (activation.clientId ?? null) : null,
          status: activation.activated ? 'activated' : 'deactivated',
        },
      };
    },

    'post-v1-applications-devices': async ({ applicationId, deviceId, caller, body }) => {
      const given = body?.value as ActivationBody;
      const [clientId, clientSecret] =
        'clientId' in given ? [given.clientId, ''] : [given.mimiClientId, given.mimiClientSecret ?? ''];
      const { transactionId } = await devices.activateDevice({ caller, deviceId, clientId, clientSecret });
      return transactionCreated(applicationId, transactionId);
    },

    'delete-v1-applications-devices': async ({ applicationId, deviceId, caller }) => {
      const { transactionId } = await devices.deactivateDevice({ caller, deviceId });
      return transactionCreated(applicationId, transactionId);
    },
  };
}
