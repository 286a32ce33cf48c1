import type { Logger } from '@headset-cloud/kit/logger.ts';

/** Settings that say nothing on the embedded stores: whoever gives them means others. */
const settingsOfShared = ['ADVERTISE_ADDRESS', 'GATEWAY_PEERS', 'RPC_TLS_MODE'];

/**
 * Says in the log which stores the process uses, and warns of settings under which it looks healthy and is not: a file
 * of settings that was not loaded gives an empty platform that takes calls. `folder`: of the embedded stores; undefined:
 * MongoDB and Kafka.
 */
export function tellStores(
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
  const noEffect = meant.length > 0 ? `; no effect have ${meant.join(', ')}` : '';
  logger.warn(
    `MONGODB_URI and KAFKA_BROKERS are not set, and the embedded stores are not for production${noEffect}`,
  );
}
