import { createLogger } from '@headset-cloud/runtime/logger.ts';
import type { ConditionalChange, DeliveryStore } from '../ports/delivery-store.ts';
import { ChangeWriter } from './change-writer.ts';

const logger = createLogger({ service: 'notifier', level: 'silent' });

/** A database that times out if a write has more changes than it can handle. */
function slowStore(takes: number) {
  const stored: string[] = [];
  const sizes: number[] = [];
  const store = {
    async apply(changes: readonly ConditionalChange[]) {
      sizes.push(changes.length);
      if (changes.length > takes)
        throw Object.assign(new Error('timed out'), { name: 'MongoNetworkTimeoutError' });
      stored.push(...changes.map(({ id }) => id));
    },
  } as unknown as DeliveryStore;
  return { store, stored, sizes };
}

const ids = (count: number) => Array.from({ length: count }, (_, n) => `d-${n}`);

test('for a database that is too slow for many outcomes at once the writes get smaller, and each outcome is stored once', async () => {
  const { store, stored } = slowStore(300);
  const writer = new ChangeWriter(store, logger);
  const all = ids(2500);
  for (const id of all) writer.add({ id, change: { status: 'delivered' }, onlyIfOwner: undefined });
  await writer.stored(all);
  expect(stored).toEqual(all);
});

test('writes grow again as soon as the database keeps up', async () => {
  const database = slowStore(100);
  const writer = new ChangeWriter(database.store, logger);
  const some = ids(1000);
  for (const id of some) writer.add({ id, change: { status: 'delivered' }, onlyIfOwner: undefined });
  await writer.stored(some);
  const { store, sizes } = slowStore(1000);
  Object.assign(database.store, store);
  const more = ids(12_000).map((id) => `more-${id}`);
  for (const id of more) writer.add({ id, change: { status: 'delivered' }, onlyIfOwner: undefined });
  await writer.stored(more);
  expect(Math.max(...sizes)).toBe(1000);
});
