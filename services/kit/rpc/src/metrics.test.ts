import { BillingService } from '@headset-cloud/proto/billing/v1/service_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { Registry } from 'prom-client';
import { GrpcChannel, RpcServer } from './grpc.ts';
import { registerRpcMetrics } from './metrics.ts';
import { bind, createClient } from './types.ts';

test('calls are measured by the server: service, method and code', async () => {
  const registry = new Registry();
  const answers: (() => Promise<object>)[] = [
    async () => ({}),
    async () => ({}),
    () => Promise.reject(new DomainError('not_found', 'no')),
    () => Promise.reject(new Error('a bug')),
  ];
  const getBill = () => (answers.shift() as () => Promise<object>)();
  const logger = createLogger({ service: 'test', level: 'silent' });
  const server = new RpcServer([bind(BillingService, { getBill })], logger, {}, registerRpcMetrics(registry));
  const port = await server.start({ host: '127.0.0.1', port: 0 });
  const channel = new GrpcChannel(`127.0.0.1:${port}`);
  const billing = createClient(BillingService, channel);
  for (let i = 0; i < 4; i++) await billing.getBill({}).catch(() => {});
  await channel.close();
  await server.stop(0);
  const text = await registry.getSingleMetricAsString('headset_rpc_duration_seconds');
  const counts = text.split('\n').filter((line) => line.startsWith('headset_rpc_duration_seconds_count'));
  const of = 'rpc_service="headset.billing.v1.BillingService",rpc_method="GetBill"';
  const count = (code: string) =>
    counts.find((line) => line.includes(`{${of},code="${code}"}`))?.split(' ')[1];
  expect([count('ok'), count('not_found'), count('internal')]).toEqual(['2', '1', '1']);
});
