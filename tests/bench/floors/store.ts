import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { connectMongo } from '@headset-cloud/kit/store/mongo.ts';
import type { StoreConnection } from '@headset-cloud/kit/store/types.ts';

/** The store to which a floor writes: the same kind as the platform's on that stack. */
export interface FloorStore {
  /** The address of MongoDB; absent: the embedded store. */
  readonly mongodbUri?: string | undefined;
  /** Folder of the embedded store's file. */
  readonly directory: string;
}

/** Opens the store: majority-acknowledged and journalled, or SQLite with group commit. */
export async function openFloorStore(options: FloorStore): Promise<StoreConnection> {
  if (options.mongodbUri) {
    return connectMongo({ uri: options.mongodbUri, databasePrefix: 'floor_', appName: 'floor' });
  }
  return createEmbeddedStore(openEmbeddedDatabase({ directory: options.directory }));
}
