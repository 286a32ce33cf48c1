import type { Logger } from '@headset-cloud/runtime/logger.ts';

/** Settings that only MongoDB and Kafka need. If one is set, the embedded stores were probably not intended. */
const sharedSettings = ['ADVERTISE_ADDRESS', 'GATEWAY_PEERS', 'RPC_TLS_MODE'];

/**
 * Logs which stores the process uses. Logs a warning if the settings suggest other stores, for example because an
 * environment file was not loaded: the process would accept calls on an empty platform. `folder`: folder of the
 * embedded stores; undefined: MongoDB and Kafka.
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
      'ADVERTISE_ADDRESS is not set: if another process uses these stores, commands may wait for minutes',
    );
    return;
  }
  logger.info({ folder }, 'stores: embedded, in a folder of this machine');
  const given = sharedSettings.filter((key) => env[key]);
  if (env['NODE_ENV'] !== 'production' && given.length === 0) return;
  const noEffect = given.length > 0 ? `; ${given.join(', ')} have no effect` : '';
  logger.warn(
    `MONGODB_URI and KAFKA_BROKERS are not set, and the embedded stores are not for production${noEffect}`,
  );
}
