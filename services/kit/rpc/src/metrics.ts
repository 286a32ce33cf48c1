import type { DescMethod } from '@bufbuild/protobuf';
import { Histogram, type Registry } from 'prom-client';

/** Called for each call that a server has answered: `code` is 'ok' or the error's stable code. */
export type CallObserver = (method: DescMethod, code: string, seconds: number) => void;

/** Registers the metric of the calls that a process serves: rate, errors and latency. */
export function registerRpcMetrics(registry: Registry): CallObserver {
  const calls = new Histogram({
    name: 'headset_rpc_duration_seconds',
    help: 'Time from the arrival of a call at this service until its answer, by called service, method and code: ok, or the error.',
    labelNames: ['rpc_service', 'rpc_method', 'code'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return (method, code, seconds) =>
    calls.observe({ rpc_service: method.parent.typeName, rpc_method: method.name, code }, seconds);
}
