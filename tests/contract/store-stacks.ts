import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMongo, whyNoMongo } from '@headset-cloud/demo/stack/mongo.ts';
import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { connectMongo } from '@headset-cloud/store/mongo.ts';
import type { StoreConnection } from '@headset-cloud/store/types.ts';

/** A store for operations, and the function that stops it. */
export interface Stack {
  readonly connection: StoreConnection;
  stop(): Promise<void>;
}

/** The embedded store on a new directory. */
export function embeddedStack(): Stack {
  const directory = mkdtempSync(join(tmpdir(), 'store-contract-'));
  const db = openEmbeddedDatabase({ directory });
  const connection = createEmbeddedStore(db);
  return {
    connection,
    stop: async () => {
      await connection.close();
      await db.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Why there is no server to compare with; undefined when there is one. */
export function whyNoServer(): string | undefined {
  return process.env['MONGODB_URI'] ? undefined : whyNoMongo();
}

/** A server over the network: the server of MONGODB_URI, or a server started for this run. */
export async function serverStack(): Promise<Stack> {
  const databasePrefix = `contract-${Date.now().toString(36)}-`;
  const connect = (uri: string) => connectMongo({ uri, databasePrefix, appName: 'store-contract' });
  const given = process.env['MONGODB_URI'];
  if (given) {
    const connection = await connect(given);
    return { connection, stop: () => connection.close() };
  }
  const directory = mkdtempSync(join(tmpdir(), 'store-contract-server-'));
  const server = await startMongo(directory);
  const connection = await connect(server.uri);
  return {
    connection,
    stop: async () => {
      await connection.close();
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
