import type { Service, ServiceContext } from '@headset-cloud/kit/service.ts';
import type { UpdatesConfig } from './config.ts';

/** The updates service: software and firmware: catalogue, uploads, updates now. */
export function buildUpdates(_ctx: ServiceContext, _config: UpdatesConfig): Service {
  return {
    name: 'updates',
    rpc: [],
    admin: [],
    async start() {},
    async stop() {},
    notReady: () => undefined,
  };
}
