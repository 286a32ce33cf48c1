import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { positionText } from '@headset-cloud/notifier/domain/feed-position.ts';
import type { DeliveryDocument } from '@headset-cloud/notifier/store/documents.ts';
import type { FeedPartitionDocument } from '@headset-cloud/notifier/store/feed.ts';
import { connectMongo } from '@headset-cloud/store/mongo.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import type { World } from './world.ts';

const writtenTogether = 1000;
const keptMs = 30 * 86_400_000;

/** Stores delivered callbacks of the world's application, in the order of its feed, in an epoch before the platform's. */
export async function fillEvents(world: World, count: number): Promise<void> {
  const { backing, processes, dataDir } = world.stack;
  if (backing) {
    const mongo = await connectMongo({
      uri: backing.mongodbUri,
      databasePrefix: 'headset_',
      appName: 'bench',
    });
    await fill(mongo.database('notifier'), world.applicationId, count);
    await mongo.close();
    return;
  }
  await processes['platform']?.stop();
  const database = openEmbeddedDatabase({ directory: dataDir });
  const stores = createEmbeddedStore(database);
  await fill(stores.database('notifier'), world.applicationId, count);
  await stores.close();
  await database.close();
  processes['platform']?.start();
  await world.stack.ready();
}

async function fill(store: Store, applicationId: string, count: number): Promise<void> {
  const deliveries = store.collection<DeliveryDocument>('deliveries');
  // A platform without events yet continues with this epoch.
  const known = store.collection<FeedPartitionDocument>('feed_partitions');
  if ((await known.countDocuments()) === 0) await known.insertOne({ _id: 0, epoch: 2, offset: 0 });
  const partitions = await known.find({}).toArray();
  const nowMs = Date.now();
  const expireAt = new Date(nowMs + keptMs);
  for (let i = 0; i < count; i += writtenTogether) {
    const documents = Array.from({ length: Math.min(writtenTogether, count - i) }, (_, j) => {
      const partition = partitions[(i + j) % partitions.length]?._id ?? 0;
      const position = positionText({ partition, epoch: 1, offset: i + j, atMs: nowMs - 1000 });
      return { ...eventOf(applicationId, i + j, nowMs - 1000, expireAt), position };
    });
    await deliveries.insertMany(documents as never, { ordered: false });
  }
}

function eventOf(applicationId: string, n: number, createdAtMs: number, expireAt: Date): DeliveryDocument {
  const transactionId = 1_000_000 + Math.floor(n / 2);
  const isEnd = n % 2 === 1;
  const kind = isEnd ? 'processed' : 'accepted';
  const body = {
    ...{
      applicationId,
      deviceId: `35${String(n % 1000).padStart(13, '0')}`,
      timestamp: createdAtMs,
      transactionId,
    },
    operationId: 'put-v1-applications-devices-commands',
    ...{ notificationType: kind, result: 'success', message: 'command called.' },
  };
  return {
    ...{ _id: `tx-${transactionId}-${kind}`, applicationId, destination: 'deviceEvent' },
    ...{
      orderKey: `tx-${transactionId}`,
      sequence: isEnd ? 2 : 1,
      order: 'ended',
      after: null,
      replaceable: false,
    },
    body: Buffer.from(JSON.stringify(body)),
    ...{ status: 'delivered', attempts: 1, createdAtMs, budgetFromMs: createdAtMs, nextAttemptAtMs: 0 },
    ...{
      dueAtMs: createdAtMs,
      owner: null,
      takenOver: false,
      deliveredAtMs: createdAtMs,
      lastOutcome: '204',
    },
    recentAttempts: [{ atMs: createdAtMs, durationMs: 3, statusCode: 204, error: '', host: '127.0.0.1' }],
    ...{ traceparent: '', lane: `${applicationId}/deviceEvent`, expireAt },
  } as DeliveryDocument;
}
