import type { Logger } from '@headset-cloud/runtime/logger.ts';

/** Settings without effect on the embedded stores: their presence indicates that MongoDB and Kafka were intended. */
const settingsOfShared = ['ADVERTISE_ADDRESS', 'GATEWAY_PEERS', 'RPC_TLS_MODE'];

/**
 * Logs which stores the process uses. Logs a warning if the settings suggest other stores: with an environment file that
 * was not loaded, the process would accept calls on an empty platform. `folder`: folder of the embedded stores;
 * undefined: MongoDB and Kafka.
 */
export function logStores(
  logger: Pick<Logger, 'info' | 'warn'>,
  folder: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): void {
  if (folder === undefined) {
    logger.info('stores: MongoDB and Kafka');
    if (env['ADVERTISE_ADDRESS']) return;
    logger.warn(
      'ADVERTISE_ADDRESS is not set: no other process may use these stores, or commands wait for minutes',
    );
    return;
  }
  logger.info({ folder }, 'stores: embedded, in a folder of this machine');
  const meant = settingsOfShared.filter((key) => env[key]);
  if (env['NODE_ENV'] !== 'production' && meant.length === 0) return;
  const noEffect = meant.length > 0 ? `; ${meant.join(', ')} have no effect` : '';
  logger.warn(
    `MONGODB_URI and KAFKA_BROKERS are not set, and the embedded stores are not for production${noEffect}`,
  );
}
