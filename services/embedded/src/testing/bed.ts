import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventLog } from '@headset-cloud/eventlog/types.ts';
import type { SealingContext } from '@headset-cloud/process/service.ts';
import { type Crash, withCrashes } from '@headset-cloud/process/testing/crash-points.ts';
import { systemClock } from '@headset-cloud/runtime/clock.ts';
import { createLogger, type Logger } from '@headset-cloud/runtime/logger.ts';
import { createSecretBox } from '@headset-cloud/runtime/secrets.ts';
import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';
import { openMongo } from '@headset-cloud/store/mongo.ts';
import type { Store } from '@headset-cloud/store/types.ts';
import { Registry } from 'prom-client';
import { openEmbeddedDatabase } from '../database.ts';
import { createEmbeddedLog } from '../log.ts';
import { createEmbeddedStore } from '../store.ts';
import { type Disk, diskOf } from './disk.ts';

/** Store and log for the tests of one service. */
export interface TestBed {
  readonly directory: string;
  readonly store: Store;
  readonly log: EventLog;
  /** Silent, or with the level of TEST_LOG. */
  readonly logger: Logger;
  /** The disk under the embedded store and log. */
  readonly disk: Disk;
  /** Number of documents that queries have examined so far; counted by the embedded store only. */
  documentsExamined(): number;
  /**
   * The context that a host gives the service; `own` overrides parts of it. A write that `world` names rejects with
   * a CutOff.
   */
  context(
    own: Pick<SealingContext, 'channel'> & Partial<SealingContext>,
    world?: () => Crash,
  ): SealingContext;
  /** Closes store and log; the stored data stays in the directory. */
  close(): Promise<void>;
  /** Closes store and log, and removes their data. */
  remove(): Promise<void>;
}

/** A MongoDB server on which the tests of some services run as well, if set. */
const mongoUri = process.env['MONGODB_URI'];

/** For tests of the cost of queries, which only the embedded store counts. */
export const onEmbedded = mongoUri ? test.skip : test;

/**
 * Opens the embedded store and log of a service in a directory, by default a new one.
 * `onMongo`: if MONGODB_URI names a server, the store is a database there, which `remove` empties.
 */
export function openTestBed(
  service: ServiceName,
  options: { readonly directory?: string; readonly onMongo?: boolean } = {},
): TestBed {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), `${service}-`));
  const disk = diskOf(directory);
  const database = openEmbeddedDatabase({ directory, walSync: disk.walSync });
  const embedded = createEmbeddedStore(database);
  const databasePrefix = `test_${randomUUID().slice(0, 8)}_`;
  const onMongo = options.onMongo && mongoUri;
  const mongo = onMongo ? openMongo({ uri: mongoUri, databasePrefix, appName: 'test' }) : undefined;
  const named = new Set<string>();
  const opened = (mongo ?? embedded).database(service);
  const store: Store = {
    ...opened,
    collection(name, how) {
      named.add(name);
      return opened.collection(name, how);
    },
  };
  const logger = createLogger({ service, level: process.env['TEST_LOG'] ?? 'silent' });
  const log = createEmbeddedLog(database, logger);
  const close = async () => {
    disk.release();
    await mongo?.close();
    await log.close();
    await embedded.close();
    await database.close();
  };
  return {
    ...{ directory, store, log, logger, disk, close },
    documentsExamined: () => embedded.statistics.documentsExamined,
    context(own, world) {
      const context = {
        ...{ logger, store, log, clock: systemClock, metrics: new Registry(), instanceId: 'test' },
        secrets: createSecretBox('a test secret of more than thirty-two characters'),
        ...own,
      };
      return world ? cutOffAt(service, context, world) : context;
    },
    async remove() {
      if (mongo) for (const name of named) await store.collection(name).deleteMany({});
      await close();
      rmSync(directory, { recursive: true });
    },
  };
}

/** Thrown instead of the death of a real process. */
export class CutOff extends Error {}

/** Ports of a service of which the write that `world` names rejects with a CutOff. */
export function cutOffAt<P extends object>(service: string, ports: P, world: () => Crash): P {
  return withCrashes(service, ports, world, (cutAt) => {
    throw new CutOff(cutAt);
  });
}
