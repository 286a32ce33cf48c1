import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ManagedProcess, manageProcess } from '@headset-cloud/demo/stack/process.ts';
import type { Stack } from '@headset-cloud/demo/stack/stack.ts';
import { kafkaNames } from '@headset-cloud/eventlog/kafka-names.ts';
import { deadLetterTopic, topics } from '@headset-cloud/eventlog/types.ts';
import { databaseOf, type ServiceName, serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { Kafka, logLevel } from 'kafkajs';
import { type Document, MongoClient } from 'mongodb';

/** Backups of a platform's stored state, and what follows on a restore. */
export interface Backups {
  /** Saves the current state of these services' databases; the embedded stack always saves all databases. */
  save(services: readonly ServiceName[]): Promise<void>;
  /** Ends all services. */
  stopAll(): Promise<void>;
  /** Replaces the current state by the saved state, while no service runs. */
  restore(): Promise<void>;
  /** Removes all topics and all consumer offsets; on the real stack only. */
  loseLog(): Promise<void>;
  startAll(): Promise<void>;
  /** The command `raise` with these arguments; not started. */
  raise(...args: string[]): ManagedProcess;
  close(): Promise<void>;
}

export function createBackups(stack: Stack): Backups {
  const running = Object.values(stack.processes);
  const shared = {
    async stopAll() {
      for (const one of running.toReversed()) await one.stop();
    },
    async startAll() {
      for (const one of running) one.start();
      await stack.ready();
    },
  };
  const command = (entry: string, env: Record<string, string>, args: string[]) =>
    manageProcess({ name: 'raise', entry, env, args, logFile: join(stack.dataDir, 'logs', 'raise.log') });
  const { backing } = stack;
  if (!backing) {
    const saved = join(stack.dataDir, 'saved');
    const files = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('headset-cloud.'));
    return {
      ...shared,
      async save() {
        await shared.stopAll();
        mkdirSync(saved, { recursive: true });
        for (const name of files(stack.dataDir)) cpSync(join(stack.dataDir, name), join(saved, name));
        await shared.startAll();
      },
      async restore() {
        for (const name of files(stack.dataDir)) rmSync(join(stack.dataDir, name));
        for (const name of files(saved)) cpSync(join(saved, name), join(stack.dataDir, name));
      },
      loseLog: () => Promise.reject(new Error('the embedded log is in the database')),
      raise: (...args) => command('services/standalone/src/raise-main.ts', { DATA_DIR: stack.dataDir }, args),
      close: async () => {},
    };
  }
  // Values stay as they are stored, as mongodump has them.
  const mongo = new MongoClient(backing.mongodbUri, { promoteValues: false, promoteLongs: false });
  const databases = new Map<string, Map<string, Document[]>>();
  const databasePrefix = backing.databasePrefix ?? 'headset_';
  const nameOf = (service: ServiceName) => `${databasePrefix}${databaseOf(service)}`;
  return {
    ...shared,
    async save(services) {
      for (const service of services) {
        const saved = new Map<string, Document[]>();
        for (const collection of await mongo.db(nameOf(service)).collections()) {
          saved.set(collection.collectionName, await collection.find({}).toArray());
        }
        databases.set(nameOf(service), saved);
      }
    },
    async restore() {
      for (const name of serviceNames.map(nameOf)) {
        for (const collection of await mongo.db(name).collections()) {
          await collection.deleteMany({});
          const documents = databases.get(name)?.get(collection.collectionName) ?? [];
          if (documents.length > 0) await collection.insertMany(documents);
        }
      }
    },
    async loseLog() {
      const kafka = new Kafka({
        brokers: backing.kafkaBrokers.split(','),
        logLevel: logLevel.NOTHING,
      }).admin();
      await kafka.connect();
      const { groups } = await kafka.listGroups();
      const own = groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(backing.kafkaPrefix));
      await kafka.deleteGroups(own);
      const names = Object.values(topics).map(kafkaNames(backing.kafkaPrefix).topic);
      await kafka.deleteTopics({ topics: [...names, ...names.map(deadLetterTopic)] });
      await kafka.disconnect();
    },
    raise: (...args) =>
      command(
        'services/prepare/src/raise-main.ts',
        { MONGODB_URI: backing.mongodbUri, MONGODB_DATABASE_PREFIX: databasePrefix },
        args,
      ),
    close: () => mongo.close(),
  };
}
