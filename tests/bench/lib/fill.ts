import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { connectMongo } from '@headset-cloud/store/mongo.ts';
import type { StoreCollection } from '@headset-cloud/store/types.ts';
import type { Document } from 'mongodb';
import type { World } from './world.ts';

/** The size of the data. */
export interface Size {
  readonly devices: number;
  readonly transactions: number;
}

/** The size of each application, which does not depend on the number of applications. */
export const perApplication = { devices: 50, transactions: 500 } as const;

/** Number of documents in one write. */
const batch = 1000;

type Stored = Document & { _id: number };

/**
 * Inserts transactions of many applications, modelled on one transaction that the platform made: the same
 * fields and types, but other ids, applications, devices and states. The world's own application gets the
 * first share. On the embedded stack the platform is stopped meanwhile.
 */
export async function fillTransactions(world: World, size: Size, pattern: number): Promise<void> {
  const { backing, processes, dataDir } = world.stack;
  if (backing) {
    const mongo = await connectMongo({
      uri: backing.mongodbUri,
      databasePrefix: 'headset_',
      appName: 'bench',
    });
    const store = mongo.database('transactions');
    await fill(world, size, pattern, (name) => store.collection<Stored>(name));
    await mongo.close();
    return;
  }
  await processes['platform']?.stop();
  const database = openEmbeddedDatabase({ directory: dataDir });
  const stores = createEmbeddedStore(database);
  const store = stores.database('transactions');
  await fill(world, size, pattern, (name) => store.collection<Stored>(name));
  await stores.close();
  await database.close();
  processes['platform']?.start();
  await world.stack.ready();
}

async function fill(
  world: World,
  size: Size,
  patternId: number,
  collection: (name: string) => StoreCollection<Stored>,
): Promise<void> {
  const transactions = collection('transactions');
  const pattern = await transactions.findOne({ _id: patternId });
  if (!pattern) throw new Error(`transaction ${patternId} is not stored`);
  const counter = await collection('counters').findOneAndUpdate(
    { _id: 'transactionId' as never },
    { $inc: { next: size.transactions + 10_000 } as never },
    { returnDocument: 'before' },
  );
  const first = Number(counter?.['next']) + 5000;
  const ended = { ...pattern, status: 'processed', end: { success: true, message: '', at: new Date() } };
  delete (ended as Document)['open'];
  delete (ended as Document)['dueAt'];
  for (let i = 0; i < size.transactions; i += batch) {
    const documents = Array.from({ length: Math.min(batch, size.transactions - i) }, (_, j) =>
      documentOf(i + j, first, world.applicationId, i + j < 3 ? pattern : ended),
    );
    await transactions.insertMany(documents as never, { ordered: false });
  }
  const heads = collection('heads');
  for (let i = 0; i < size.devices; i += batch) {
    const documents = Array.from({ length: Math.min(batch, size.devices - i) }, (_, j) => ({
      _id: deviceOf(i + j),
      lastId: first + size.transactions,
      epoch: 1,
    }));
    await heads.insertMany(documents as never, { ordered: false });
  }
}

const operations = [
  'put-v1-applications-devices-commands',
  'put-v1-applications-devices-settings-wifi',
  'put-v1-applications-devices-apps',
];

/** The nth document: the world's application first, then one application after the other. */
function documentOf(n: number, first: number, own: string, pattern: Document): Document {
  const application = Math.floor(n / perApplication.transactions);
  const device = application * perApplication.devices + (n % perApplication.devices);
  const at = new Date(1_760_000_000_000 + n * 1000);
  return {
    ...pattern,
    _id: first + n,
    applicationId: application === 0 ? own : `application-${application}`,
    deviceId: deviceOf(device),
    operationId: operations[n % operations.length],
    ...(n % 7 === 0 && pattern['status'] === 'processed' && { status: 'canceled' }),
    createdAt: at,
    updatedAt: at,
  };
}

/** An IMEI of the filled range. */
export function deviceOf(n: number): string {
  return String(360_000_000_000_000 + n);
}
