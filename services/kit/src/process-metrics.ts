import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { platformVersion } from './build-info.ts';

/** A registry with the process's own metrics and its version, labelled with the service. */
export function createMetrics(service: string): Registry {
  const metrics = new Registry();
  metrics.setDefaultLabels({ service });
  collectDefaultMetrics({ register: metrics });
  new Gauge({
    name: 'headset_build_info',
    help: 'Always 1; the version of the platform and of Node.js that this process runs.',
    labelNames: ['version', 'node'],
    registers: [metrics],
  }).set({ version: platformVersion(), node: process.versions.node }, 1);
  return metrics;
}
