import { ConfigError } from '@headset-cloud/runtime/config.ts';
import { type Document, MongoClient, type MongoClientOptions, type TopologyDescription } from 'mongodb';
import { bounded } from './bounded.ts';
import type { Store, StoreCollection, StoreConnection } from './types.ts';

/** Options of a connection to MongoDB. */
export interface MongoOptions {
  /** The connection string; its options override those below. */
  readonly uri: string;
  /** Prefix of each database's name, so that several platforms (or tests) can share one server. */
  readonly databasePrefix?: string;
  /** Name of this client in the server's logs and in `currentOp`. */
  readonly appName: string;
  /** Time limit for the answer to a call; default 10 s. */
  readonly socketTimeoutMs?: number;
  /** Waits for the database during the start of the process (Store.whenReachable in types.ts); absent: one try. */
  readonly whenReachable?: NonNullable<Store['whenReachable']>;
}

/** Limits for every wait, because the driver's defaults are unlimited. */
const limits = {
  serverSelectionTimeoutMS: 2000,
  connectTimeoutMS: 3000,
  socketTimeoutMS: 10_000,
  waitQueueTimeoutMS: 5000,
  heartbeatFrequencyMS: 2000,
  maxPoolSize: 64,
  maxIdleTimeMS: 60_000,
} as const;

/** Opens MongoDB and waits for it: throws the driver's error when no server answers within 2 s. */
export async function connectMongo(options: MongoOptions): Promise<StoreConnection> {
  const { client, connection } = open(options);
  try {
    await client.connect();
  } catch (error) {
    await client.close().catch(() => {});
    throw error;
  }
  return connection;
}

/**
 * Opens MongoDB, whether it is available or not (rule C3); `whenReachable` connects. A write is acknowledged when it is
 * in the journals of a majority. Reads go to the primary and return only data that a majority has. A timeout is an
 * error of the driver, which becomes `database_failed` (toDomainError in errors.ts).
 */
export function openMongo(options: MongoOptions): StoreConnection {
  return open(options).connection;
}

/** Throws a ConfigError if the driver cannot parse the connection string; the driver's own error may contain the password. */
function clientOf(uri: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(uri, options);
  } catch {
    const reason =
      'MONGODB_URI: the value is not an address that the driver can read: look at its hosts, its options, and at ' +
      'characters of the password that must be percent-encoded. ' +
      'Example: MONGODB_URI=mongodb://USER:PASSWORD@mongo-0.mongo:27017/?replicaSet=rs0';
    throw new ConfigError([{ setting: 'MONGODB_URI', reason }]);
  }
}

function open(
  options: MongoOptions,
  more: { readonly socketTimeoutMS?: number } = {},
): { client: MongoClient; connection: StoreConnection } {
  const { uri, appName, databasePrefix = '', whenReachable } = options;
  const { socketTimeoutMs = limits.socketTimeoutMS } = options;
  const client = clientOf(uri, {
    ...limits,
    socketTimeoutMS: socketTimeoutMs,
    ...more,
    appName,
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
    retryWrites: true,
    retryReads: true,
    monitorCommands: false,
    ignoreUndefined: false,
  });
  const readiness = watchTopology(client);
  const connection: StoreConnection = {
    database: (name): Store => {
      const database = client.db(`${databasePrefix}${name}`);
      return {
        collection: <T extends Document>(collection: string) =>
          bounded(database.collection<T>(collection) as unknown as StoreCollection<T>),
        async forLongWork(work) {
          // Calls have no timeout here. If the server becomes unavailable, the driver's monitoring ends them.
          const long = open(options, { socketTimeoutMS: 0 });
          try {
            await long.client.connect();
            return await work(long.connection.database(name));
          } finally {
            await long.client.close();
          }
        },
        ...(whenReachable && {
          whenReachable: (what, work) =>
            whenReachable(what, async () => {
              // Has no effect if the client is connected. Needed after a failure, because nothing else reconnects.
              await client.connect();
              return work();
            }),
        }),
      };
    },
    notReady: readiness,
    close: () => client.close(),
  };
  return { client, connection };
}

const writable: ReadonlySet<string> = new Set(['RSPrimary', 'Standalone', 'Mongos', 'LoadBalancer']);

/** Returns a function that returns why no server accepts writes, by the last state of the driver's monitoring. */
function watchTopology(client: MongoClient): () => string | undefined {
  let reason: string | undefined = 'MongoDB has not answered yet';
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    reason = whyNotWritable(newDescription);
  });
  client.on('topologyClosed', () => {
    reason = 'the connection to MongoDB is closed';
  });
  return () => reason;
}

function whyNotWritable(topology: TopologyDescription): string | undefined {
  const servers = [...topology.servers.values()];
  if (servers.some((server) => writable.has(server.type))) return undefined;
  const seen = servers.map((server) => {
    const cause = server.error ? ` (${server.error.message})` : '';
    return `${server.address} ${server.type}${cause}`;
  });
  return `MongoDB has no server that takes writes: ${seen.join(', ')}`;
}
