import { type RunningSubscription, topics } from '@headset-cloud/kit/eventlog/types.ts';
import { createClient } from '@headset-cloud/kit/rpc/types.ts';
import type { Service, ServiceContext } from '@headset-cloud/kit/service.ts';
import { DevicesService } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import type { ConnectivityConfig } from './config.ts';
import { deviceReportsGroup, deviceReportsHandler } from './consumers/device-reports.ts';
import { rpcBindings } from './grpc/bindings.ts';
import { createMetrics } from './metrics.ts';

/** The connectivity service: Bluetooth, Wi-Fi and mobile operations of headsets. */
export function buildConnectivity(ctx: ServiceContext, _config: ConnectivityConfig): Service {
  const { log, failpoints } = ctx;
  const devices = createClient(DevicesService, ctx.channel('devices'));
  const metrics = createMetrics(ctx.metrics);
  let reports: RunningSubscription | undefined;

  return {
    name: 'connectivity',
    rpc: rpcBindings({ devices }, metrics),
    admin: [],
    async start() {
      await log.ensureTopics([topics.deviceReports, topics.notifications]);
      reports = await log.subscribe({
        topic: topics.deviceReports,
        group: deviceReportsGroup,
        handle: deviceReportsHandler({ devices, log, failpoints, metrics }),
      });
    },
    async stop() {
      await reports?.close();
      reports = undefined;
    },
    notReady: () => (reports ? reports.notReady() : 'not started'),
  };
}
