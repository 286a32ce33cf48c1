import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedDatabase, openEmbeddedDatabase } from '@headset-cloud/embedded/database.ts';
import { createEmbeddedStore, type EmbeddedStoreConnection } from '@headset-cloud/embedded/store.ts';
import { createFeedStore } from '@headset-cloud/notifier/store/feed.ts';
import { raisedBy, raiseStep } from '@headset-cloud/rules/raised.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { raise, raiseOptions } from './raise.ts';

// ADR 0035; all of it on running platforms: tests/e2e/restore.test.ts
let directory: string;
let database: EmbeddedDatabase;
let stores: EmbeddedStoreConnection;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'raise-'));
  database = openEmbeddedDatabase({ directory });
  stores = createEmbeddedStore(database);
});
afterEach(async () => {
  await stores.close();
  await database.close();
  rmSync(directory, { recursive: true, force: true });
});

const run = (...args: string[]) =>
  raise(
    (service) => stores.database(service),
    raiseOptions(args),
    createLogger({ service: 'raise', level: 'silent' }),
  );
const nextId = async () => {
  const counters = stores.database('transactions').collection<{ _id: string; next: number }>('counters');
  return (await counters.findOne({ _id: 'transactionId' }))?.next ?? 0;
};

test('unused databases are rejected: the prefix or the folder is wrong', async () => {
  await expect(run()).rejects.toThrow('there is no application in the database of devices');
  expect(await nextId()).toBe(0);
});

test('each run raises further; a dry run changes nothing', async () => {
  await stores.database('devices').collection('applications').insertOne({ name: 'one' });
  const feed = createFeedStore(stores.database('notifier'));
  await feed.addPartition({ partition: 0, epoch: 7, offset: 50 });
  await run('--dry-run');
  expect(await nextId()).toBe(0);
  expect(await feed.partitions()).toEqual([{ partition: 0, epoch: 7, offset: 50 }]);
  await run();
  await run('--log-lost');
  expect(await nextId()).toBe(2 * raiseStep);
  const [partition] = await feed.partitions();
  expect(partition).toMatchObject({ partition: 0, offset: 0 });
  expect(partition?.epoch).toBeGreaterThan(8);
  for (const service of ['devices', 'device-link'])
    expect(await raisedBy(stores.database(service))).toBe(2 * raiseStep);
});

test('an unknown argument is an invalid configuration', () => {
  expect(raiseOptions([])).toEqual({ dryRun: false, logLost: false });
  expect(raiseOptions(['--dry-run', '--log-lost'])).toEqual({ dryRun: true, logLost: true });
  for (const argument of ['--dry', 'now']) expect(() => raiseOptions([argument])).toThrow(argument);
});
