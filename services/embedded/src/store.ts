import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Settle, Store, StoreCollection, StoreConnection } from '@headset-cloud/store/types.ts';
import type { Document } from 'mongodb';
import { Catalogue } from './catalogue.ts';
import { EmbeddedCollection } from './collection.ts';
import type { EmbeddedDatabase } from './database.ts';
import { DocumentCache } from './document-cache.ts';
import { CollectionEngine, type QueryStatistics } from './engine.ts';
import { sweepExpired } from './expiry.ts';
import { createJournal, IndexBuffer } from './index-buffer.ts';

/** The embedded document store: a StoreConnection without a server (rule C5). */
export interface EmbeddedStoreConnection extends StoreConnection {
  /** Counters of what queries have read. */
  readonly statistics: QueryStatistics;
  /** Deletes the expired documents of TTL indexes; returns their number. */
  sweepExpired(): Promise<number>;
}

/** Interval between two deletions of expired documents; milliseconds. On MongoDB it is 60 s. */
const defaultSweepMs = 30_000;

/**
 * Creates the document store in `db`. Services use it like databases of the driver; the contract tests compare both.
 * `close` ends the deletion of expired documents. It does not close `db`.
 */
export function createEmbeddedStore(
  db: EmbeddedDatabase,
  options: { sweepMs?: number; indexDelayMs?: number; time?: Time } = {},
): EmbeddedStoreConnection {
  const { time = systemTime } = options;
  const catalogue = new Catalogue(db.sql);
  catalogue.create();
  createJournal(db.sql);
  const cache = new DocumentCache();
  const buffer = new IndexBuffer(db, options.indexDelayMs, time);
  const statistics: QueryStatistics = { documentsExamined: 0, keysExamined: 0 };
  const engines = new Map<string, CollectionEngine>();
  const sweep = (signal: AbortSignal) => sweepExpired(db, engines.values(), signal);
  const sweeper = startSweeper(sweep, options.sweepMs ?? defaultSweepMs, time);
  db.onClose(() => sweeper.stop());

  const collection = <T extends Document>(
    database: string,
    name: string,
    settle: Settle = 'durable',
  ): StoreCollection<T> => {
    const namespace = `${database}.${name}`;
    let engine = engines.get(namespace);
    if (!engine) {
      engine = new CollectionEngine(db, catalogue, cache, buffer, namespace, statistics);
      engines.set(namespace, engine);
    }
    return new EmbeddedCollection<T>(name, db, engine, settle);
  };

  return {
    statistics,
    database: (database: string): Store => ({
      collection: (name, options) => collection(database, name, options?.settle),
    }),
    notReady: () => db.notReady(),
    sweepExpired: () => sweeper.run(),
    close: () => sweeper.stop(),
  };
}

function startSweeper(
  sweep: (signal: AbortSignal) => Promise<number>,
  everyMs: number,
  time: Time,
): { run(): Promise<number>; stop(): Promise<void> } {
  let running: Promise<number> | undefined;
  const stopping = new AbortController();
  const run = (): Promise<number> => {
    running ??= sweep(stopping.signal).finally(() => {
      running = undefined;
    });
    return running;
  };
  const timer = time.setInterval(() => {
    // `notReady` reports a failing disk; the next sweep deletes the remaining documents.
    if (!stopping.signal.aborted) run().catch(() => {});
  }, everyMs);
  timer.unref();
  return {
    run,
    stop: async () => {
      stopping.abort();
      time.clearTimer(timer);
      await running?.catch(() => {});
    },
  };
}
