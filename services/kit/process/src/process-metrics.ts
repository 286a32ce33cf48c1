import { platformVersion } from '@headset-cloud/runtime/build-info.ts';
import type { Warning } from '@headset-cloud/runtime/lifecycle.ts';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

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

/** Registers metrics for alerts: whether the process is ready, and its warnings. */
export function registerReadiness(
  metrics: Registry,
  state: { notReady(): readonly string[]; warnings(): readonly Warning[] },
): void {
  new Gauge({
    name: 'headset_ready',
    help: '1 while /readyz reports this process as ready, else 0.',
    registers: [metrics],
    collect() {
      this.set(state.notReady().length === 0 ? 1 : 0);
    },
  });
  new Gauge({
    name: 'headset_warnings',
    help: 'Unavailable dependencies of this process that is ready without them, by the name in `ctl status`.',
    labelNames: ['warning'],
    registers: [metrics],
    collect() {
      this.reset();
      for (const { name } of state.warnings()) this.inc({ warning: name });
    },
  });
}
