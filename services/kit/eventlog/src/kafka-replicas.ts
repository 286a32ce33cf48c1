import type { Logger } from '@headset-cloud/runtime/logger.ts';

/**
 * Warns at the start if topics in production have a single replica. This is no error, because a single broker, as in CI
 * or a small installation, cannot have a second replica.
 */
export function warnOfOneReplica(
  { KAFKA_REPLICATION_FACTOR }: { readonly KAFKA_REPLICATION_FACTOR: number },
  { logger, env }: { logger: Pick<Logger, 'warn'>; env: Readonly<Record<string, string | undefined>> },
): void {
  if (env['NODE_ENV'] !== 'production' || KAFKA_REPLICATION_FACTOR > 1) return;
  logger.warn(
    { setting: 'KAFKA_REPLICATION_FACTOR', value: KAFKA_REPLICATION_FACTOR },
    'KAFKA_REPLICATION_FACTOR is 1, but NODE_ENV is production: acknowledged events are lost with a broker. With three brokers or more: KAFKA_REPLICATION_FACTOR=3',
  );
}
