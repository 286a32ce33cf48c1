import type { Service, ServiceContext } from '@headset-cloud/kit/service.ts';
import type { CommunicationConfig } from './config.ts';

/** The communication service: video-call channels, Sora endpoints and versions, recordings. */
export function buildCommunication(_ctx: ServiceContext, _config: CommunicationConfig): Service {
  return {
    name: 'communication',
    rpc: [],
    admin: [],
    async start() {},
    async stop() {},
    notReady: () => undefined,
  };
}
