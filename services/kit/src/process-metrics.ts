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

/** Whether the process is ready, for alerts where nothing asks `/readyz`; `notReady`: the reasons why it is not. */
export function showReadiness(metrics: Registry, notReady: () => readonly string[]): void {
  new Gauge({
    name: 'headset_ready',
    help: '1 while /readyz answers that this process is ready, else 0.',
    registers: [metrics],
    collect() {
      this.set(notReady().length === 0 ? 1 : 0);
    },
  });
}
