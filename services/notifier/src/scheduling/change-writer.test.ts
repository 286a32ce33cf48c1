import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { createFakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import type { ConditionalChange } from '../ports/delivery-store.ts';
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
      return new Set<string>();
    },
  };
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

test('each change reports its end: changes that are merged into one write end together', async () => {
  const written: ConditionalChange[] = [];
  const apply = async (changes: readonly ConditionalChange[]) => {
    written.push(...changes);
    return new Set(['n-2']);
  };
  const writer = new ChangeWriter({ apply }, logger);
  const add = (id: string, change: ConditionalChange['change']) =>
    writer.add({ id, change, onlyIfOwner: 'a' });
  const ends = [add('n-1', { attempts: 1 }), add('n-1', { status: 'dead' }), add('n-2', { status: 'dead' })];
  expect(writer.has('n-1')).toBe(true);
  expect(await Promise.all(ends)).toEqual(['stored', 'stored', 'lost']);
  expect(written.map(({ id, change }) => [id, change])).toEqual([
    ['n-1', { attempts: 1, status: 'dead' }],
    ['n-2', { status: 'dead' }],
  ]);
  expect(writer.has('n-1')).toBe(false);
});

test('a flush that takes too long gives the rest up, and nothing waits for it any longer', async () => {
  const time = createFakeTime();
  const writer = new ChangeWriter({ apply: () => new Promise(() => {}) }, logger, time);
  const end = writer.add({ id: 'n-1', change: { status: 'dead' }, onlyIfOwner: 'a' });
  const stored = writer.stored(['n-1']);
  const flushed = writer.flush(1000);
  await time.advance(1000);
  await Promise.all([flushed, stored]);
  expect(await end).toBe('given up');
  expect(await writer.add({ id: 'n-2', change: { status: 'dead' }, onlyIfOwner: 'a' })).toBe('given up');
});
