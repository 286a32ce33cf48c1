/** The platform's services, by their names in logs, metrics, databases and addresses. */
export const serviceNames = [
  'devices',
  'transactions',
  'updates',
  'connectivity',
  'communication',
  'billing',
  'device-link',
  'notifier',
] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The name of a service's database, without the prefix of the platform. */
export function databaseOf(service: ServiceName): string {
  return service.replace('-', '_');
}
