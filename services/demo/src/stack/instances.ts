import { type ServiceName, serviceNames } from '@headset-cloud/runtime/service-names.ts';

/** Number of processes per service; absent: one. */
export type InstanceCounts = Readonly<Partial<Record<ServiceName, number>>>;

/** One process of a service. */
export interface Instance {
  readonly service: ServiceName;
  /** The service's name, with a number from the second instance on: notifier, notifier-2. */
  readonly name: string;
}

export function instancesOf(counts: InstanceCounts = {}): Instance[] {
  return serviceNames.flatMap((service) =>
    Array.from({ length: counts[service] ?? 1 }, (_, i) => ({
      service,
      name: i === 0 ? service : `${service}-${i + 1}`,
    })),
  );
}

/** Settings with the gRPC addresses of all services. Calls are balanced over several instances. */
export function grpcAddresses(
  instances: readonly Instance[],
  ports: Readonly<Record<string, number>>,
): Record<string, string> {
  return Object.fromEntries(
    [...Map.groupBy(instances, (i) => i.service)].map(([service, members]) => {
      const hosts = members.map(({ name }) => `127.0.0.1:${ports[name]}`);
      const address = hosts.length > 1 ? `ipv4:${hosts.join(',')}` : hosts.join();
      return [`${service.toUpperCase().replace('-', '_')}_ADDRESS`, address];
    }),
  );
}

/** Reads PROCESSES (for the real stack): `each`: one process per service and gateway; `one`: all in one process. */
export function oneProcessWanted(env: NodeJS.ProcessEnv = process.env): boolean {
  const wanted = env['PROCESSES'] || 'each';
  if (wanted !== 'each' && wanted !== 'one') {
    throw new Error(`PROCESSES=${wanted} is unknown: PROCESSES=one, or PROCESSES=each (the default).`);
  }
  return wanted === 'one';
}
