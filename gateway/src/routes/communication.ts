import type { GatewayClients } from '../clients.ts';
import { bodyOf } from './decode.ts';
import type { Handlers } from './types.ts';

/** Video-call endpoints. A channel is not a transaction: 201 without Location (rule A2). */
export function communicationHandlers({ communication }: Pick<GatewayClients, 'communication'>): Handlers {
  return {
    'post-v1-applications-channels': async (call) => {
      const { caller } = call;
      const { soraVersion } = bodyOf<{ readonly soraVersion?: string }>(call);
      const { endpointUrl, channelId } = await communication.createChannel({
        caller,
        soraVersion: soraVersion ?? '',
      });
      return { status: 201, json: { endpointUrl, channelId } };
    },

    'get-v1-applications-sora-versions': async ({ applicationId }) => {
      const { versions } = await communication.listSoraVersions({ applicationId });
      const soraVersions = versions.map(({ soraVersion, isDefault }) => ({ soraVersion, isDefault }));
      return { status: 200, json: { soraVersions } };
    },
  };
}
