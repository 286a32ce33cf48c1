import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { connectMongo } from '@headset-cloud/store/mongo.ts';
import type { StoreConnection } from '@headset-cloud/store/types.ts';

/** The store to which a baseline writes: the same kind as the platform's on that stack. */
export interface BaselineStore {
  /** The address of MongoDB; absent: the embedded store. */
  readonly mongodbUri?: string | undefined;
  /** Folder of the embedded store's file. */
  readonly directory: string;
}

/** Opens the store: majority-acknowledged and journalled, or SQLite with group commit. */
export async function openBaselineStore(options: BaselineStore): Promise<StoreConnection> {
  if (options.mongodbUri) {
    return connectMongo({ uri: options.mongodbUri, databasePrefix: 'baseline_', appName: 'baseline' });
  }
  return createEmbeddedStore(openEmbeddedDatabase({ directory: options.directory }));
}
