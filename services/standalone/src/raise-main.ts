import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { raise, raiseOptions } from '@headset-cloud/prepare/raise.ts';
import { main } from '@headset-cloud/process/process.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { standaloneConfig } from './config.ts';

/** `raise` (ADR 0035) for a data folder of the embedded stores that was restored from a copy. */
await main('raise', async () => {
  const { LOG_LEVEL, DATA_DIR } = standaloneConfig;
  const config = readConfig({ LOG_LEVEL, DATA_DIR }, process.env);
  const options = raiseOptions(process.argv.slice(2));
  // Throws while the platform runs, because the platform holds the folder's lock.
  const database = openEmbeddedDatabase({ directory: config.DATA_DIR });
  try {
    const stores = createEmbeddedStore(database);
    const logger = createLogger({ service: 'raise', level: config.LOG_LEVEL });
    await raise((service) => stores.database(service), options, logger);
    await stores.close();
  } finally {
    await database.close();
  }
});
