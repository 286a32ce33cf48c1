import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';

/** The gRPC callees of each process (from each service's build.ts and the gateway's clients.ts). */
const calls: Readonly<Record<string, readonly (ServiceName | 'platform')[]>> = {
  gateway: ['devices', 'transactions', 'updates', 'connectivity', 'communication', 'billing'],
  devices: ['transactions', 'notifier'],
  transactions: ['device-link', 'devices'],
  'device-link': ['devices', 'transactions', 'updates', 'device-link'],
  updates: ['devices'],
  connectivity: ['devices'],
  communication: ['devices', 'notifier'],
  notifier: ['devices'],
  // A process that runs all services calls other such processes: to hand over transactions and to share limits.
  platform: ['platform'],
};

const serviceOf = (process: string): string => process.replace(/-\d+$/, '');

/** Returns the lines between each two processes of which one calls the other. */
export function partitionsOf(processes: readonly string[], lines: ReadonlySet<string>): string[][] {
  const calling = (from: string, to: string) =>
    calls[serviceOf(from)]?.includes(serviceOf(to) as never) ?? false;
  return processes
    .flatMap((a, i) => processes.slice(i + 1).map((b) => [a, b] as const))
    .filter(([a, b]) => calling(a, b) || calling(b, a))
    .map(([a, b]) => [`${a}>${b}`, `${b}>${a}`].filter((name) => lines.has(name)));
}

/** Groups processes by service. */
export function servicesOf(processes: readonly string[]): string[][] {
  return [...Map.groupBy(processes, serviceOf).values()];
}
