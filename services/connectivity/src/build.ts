import type { Service, ServiceContext } from '@headset-cloud/process/service.ts';
import { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { createClient } from '@headset-cloud/rpc/types.ts';
import type { ConnectivityConfig } from './config.ts';
import { rpcBindings } from './grpc/bindings.ts';
import { createMetrics } from './metrics.ts';

/** The connectivity service: Bluetooth, Wi-Fi and mobile operations of headsets. */
export function buildConnectivity(ctx: ServiceContext, _config: ConnectivityConfig): Service {
  const devices = createClient(DevicesService, ctx.channel('devices'));
  return {
    name: 'connectivity',
    rpc: rpcBindings({ devices }, createMetrics(ctx.metrics)),
    admin: [],
    start: async () => {},
    stop: async () => {},
    notReady: () => undefined,
  };
}
