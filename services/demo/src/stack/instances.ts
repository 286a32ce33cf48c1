import { type ServiceName, serviceNames } from '@headset-cloud/runtime/service-names.ts';

/** How many processes a service has; absent: one. */
export type InstanceCounts = Readonly<Partial<Record<ServiceName, number>>>;

/** One process of a service. */
export interface Instance {
  readonly service: ServiceName;
  /** The service's name, and from the second on its number: notifier, notifier-2. */
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

/** The gRPC addresses by their configuration keys; calls take turns over several instances. */
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

/** PROCESSES: `each`, a process for each service and gateway, or `one` for all of them; on the real stack. */
export function oneProcessWanted(env: NodeJS.ProcessEnv = process.env): boolean {
  const wanted = env['PROCESSES'] || 'each';
  if (wanted !== 'each' && wanted !== 'one') {
    throw new Error(`PROCESSES=${wanted} is unknown: PROCESSES=one, or PROCESSES=each (the default).`);
  }
  return wanted === 'one';
}
