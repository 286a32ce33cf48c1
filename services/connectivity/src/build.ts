import type { Service, ServiceContext } from '@headset-cloud/kit/service.ts';
import type { ConnectivityConfig } from './config.ts';

/** The connectivity service: Bluetooth, Wi-Fi and mobile operations of headsets. */
export function buildConnectivity(_ctx: ServiceContext, _config: ConnectivityConfig): Service {
  return {
    name: 'connectivity',
    rpc: [],
    admin: [],
    async start() {},
    async stop() {},
    notReady: () => undefined,
  };
}
