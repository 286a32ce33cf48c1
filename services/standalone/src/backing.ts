import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedLog } from '@headset-cloud/embedded/log.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import { openSharedStores } from '@headset-cloud/process/shared-stores.ts';
import type { Component } from '@headset-cloud/runtime/lifecycle.ts';
import type { Logger } from '@headset-cloud/runtime/logger.ts';
import { databaseOf, type ServiceName } from '@headset-cloud/runtime/service-names.ts';
import type { Store } from '@headset-cloud/store/types.ts';

/** The stores and the event log under a process that runs all services. */
export interface Backing {
  readonly log: EventLog;
  storeOf(service: ServiceName): Store;
  /** An additional database, for data that belongs to no service. */
  database(name: string): Store;
  /** Connections and databases in the order of their start. They stop after everything that uses them. */
  readonly components: readonly Component[];
}

/** Opens the SQLite database in `directory`, which no other process can have open (ADR 0031). */
export function openEmbeddedBacking(directory: string, logger: Logger): Backing {
  const database = openEmbeddedDatabase({ directory });
  const stores = createEmbeddedStore(database);
  const log = createEmbeddedLog(database, logger);
  return {
    log,
    storeOf: (service) => stores.database(service),
    database: (name) => stores.database(name),
    components: [
      {
        ...{ name: 'database', start: async () => {}, stop: () => database.close() },
        notReady: () => database.notReady(),
      },
      { name: 'stores', start: async () => {}, stop: () => stores.close() },
      { name: 'event log', start: async () => {}, stop: () => log.close() },
    ],
  };
}

/** Opens MongoDB and Kafka like a process of one service, but with one client of each for all services. */
export function openSharedBacking(...given: Parameters<typeof openSharedStores>): Backing {
  const { mongo, log, components } = openSharedStores(...given);
  return {
    ...{ log, components },
    storeOf: (service) => mongo.database(databaseOf(service)),
    database: (name) => mongo.database(name),
  };
}
