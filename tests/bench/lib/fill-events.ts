import { openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore } from '@headset-cloud/embedded/store.ts';
import { connectMongo } from '@headset-cloud/kit/store/mongo.ts';
import type { Store } from '@headset-cloud/kit/store/types.ts';
import type { DeliveryDocument } from '@headset-cloud/notifier/store/documents.ts';
import { type FeedDocument, type FeedPageDocument, pageKey } from '@headset-cloud/notifier/store/feed.ts';
import type { World } from './world.ts';

const pageSize = 100;
const keptMs = 30 * 86_400_000;

/** Delivered callbacks of the world's application: `placed` with places in its feed, in order, then `unplaced` without. */
export async function fillEvents(world: World, placed: number, unplaced: number): Promise<void> {
  const { backing, processes, dataDir } = world.stack;
  if (backing) {
    const mongo = await connectMongo({
      uri: backing.mongodbUri,
      databasePrefix: 'headset_',
      appName: 'bench',
    });
    await fill(mongo.database('notifier'), world.applicationId, placed, unplaced);
    await mongo.close();
    return;
  }
  await processes['platform']?.stop();
  const database = openEmbeddedDatabase({ directory: dataDir });
  const stores = createEmbeddedStore(database);
  await fill(stores.database('notifier'), world.applicationId, placed, unplaced);
  await stores.close();
  await database.close();
  processes['platform']?.start();
  await world.stack.ready();
}

async function fill(store: Store, applicationId: string, placed: number, unplaced: number): Promise<void> {
  const deliveries = store.collection<DeliveryDocument>('deliveries');
  const pages = store.collection<FeedPageDocument>('feed_pages');
  const nowMs = Date.now();
  const expireAt = new Date(nowMs + keptMs);
  const tagOf = (page: number) => `tag-${page}`;
  for (let i = 0; i < placed + unplaced; i += 10 * pageSize) {
    const count = Math.min(10 * pageSize, placed + unplaced - i);
    const documents = Array.from({ length: count }, (_, j) =>
      eventOf(applicationId, i + j, nowMs - 1000, expireAt),
    );
    for (const [j, document] of documents.entries()) {
      if (i + j < placed) document.page = Math.floor((i + j) / pageSize) + 1;
      else document.unplaced = true;
    }
    await deliveries.insertMany(documents as never, { ordered: false });
    const first = Math.floor(i / pageSize) + 1;
    const made = Array.from(
      { length: Math.ceil(Math.min(count, Math.max(0, placed - i)) / pageSize) },
      (_, p) => ({
        ...{ _id: pageKey(applicationId, first + p), tag: tagOf(first + p), before: tagOf(first + p - 1) },
        ids: documents.slice(p * pageSize, (p + 1) * pageSize).map(({ _id }) => _id),
        ...{ sinceBeforeMs: 0, sinceMs: 0, newestMs: nowMs - 1000, madeAtMs: nowMs, expireAt },
      }),
    );
    if (made.length > 0) await pages.insertMany(made as never, { ordered: false });
  }
  const last = Math.ceil(placed / pageSize);
  await store.collection<FeedDocument>('feeds').insertOne({
    ...{ _id: applicationId, last, tag: tagOf(last), start: 1, sinceMs: 0, newestMs: nowMs - 1000 },
  } as never);
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
