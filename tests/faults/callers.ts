import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';

/** Who calls whom over gRPC (each service's build.ts, the gateway's clients.ts). */
const calls: Readonly<Record<string, readonly (ServiceName | 'platform')[]>> = {
  gateway: ['devices', 'transactions', 'updates', 'connectivity', 'communication', 'billing'],
  devices: ['transactions', 'notifier'],
  transactions: ['device-link', 'devices'],
  'device-link': ['devices', 'transactions', 'updates', 'device-link'],
  updates: ['devices'],
  connectivity: ['devices'],
  communication: ['devices', 'notifier'],
  notifier: ['devices'],
  // Processes that run all services deliver to the one that has the session, and tell each other what clients take.
  platform: ['platform'],
};

const serviceOf = (process: string): string => process.replace(/-\d+$/, '');

/** The pairs of processes of which one calls the other, each with the lines between them. */
export function partitionsOf(processes: readonly string[], lines: ReadonlySet<string>): string[][] {
  const calling = (from: string, to: string) =>
    calls[serviceOf(from)]?.includes(serviceOf(to) as never) ?? false;
  return processes
    .flatMap((a, i) => processes.slice(i + 1).map((b) => [a, b] as const))
    .filter(([a, b]) => calling(a, b) || calling(b, a))
    .map(([a, b]) => [`${a}>${b}`, `${b}>${a}`].filter((name) => lines.has(name)));
}

/** The processes of each service. */
export function servicesOf(processes: readonly string[]): string[][] {
  return [...Map.groupBy(processes, serviceOf).values()];
}
