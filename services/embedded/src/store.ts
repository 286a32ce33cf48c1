import type { Settle, Store, StoreCollection, StoreConnection } from '@headset-cloud/kit/store/types.ts';
import type { Document } from 'mongodb';
import { Catalogue } from './catalogue.ts';
import { EmbeddedCollection } from './collection.ts';
import type { EmbeddedDatabase } from './database.ts';
import { DocumentCache } from './document-cache.ts';
import { CollectionEngine, type QueryStatistics } from './engine.ts';
import { sweepExpired } from './expiry.ts';

/** The embedded document store: a StoreConnection without a server (rule C5). */
export interface EmbeddedStoreConnection extends StoreConnection {
  /** Counts what queries looked at. */
  readonly statistics: QueryStatistics;
  /** Deletes now what TTL indexes let expire; answers how many documents went. */
  sweepExpired(): Promise<number>;
}

/** MongoDB looks for expired documents every 60 s; this is sooner, and as little promised. */
const defaultSweepMs = 30_000;

/**
 * The document store in `db`. Services use it as they use the driver's databases; the contract suite
 * holds both to the same answers. `close` stops the expiry; the database is closed by who opened it.
 */
export function createEmbeddedStore(
  db: EmbeddedDatabase,
  options: { sweepMs?: number } = {},
): EmbeddedStoreConnection {
  const catalogue = new Catalogue(db.sql);
  catalogue.create();
  const cache = new DocumentCache();
  const statistics: QueryStatistics = { documentsExamined: 0, keysExamined: 0 };
  const engines = new Map<string, CollectionEngine>();
  const sweeper = startSweeper(() => sweepExpired(db, engines.values()), options.sweepMs ?? defaultSweepMs);
  db.onClose(() => sweeper.stop());

  const collection = <T extends Document>(
    database: string,
    name: string,
    settle: Settle = 'durable',
  ): StoreCollection<T> => {
    const namespace = `${database}.${name}`;
    let engine = engines.get(namespace);
    if (!engine) {
      engine = new CollectionEngine(db, catalogue, cache, namespace, statistics);
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
  sweep: () => Promise<number>,
  everyMs: number,
): { run(): Promise<number>; stop(): Promise<void> } {
  let running: Promise<number> | undefined;
  let stopped = false;
  const run = (): Promise<number> => {
    running ??= sweep().finally(() => {
      running = undefined;
    });
    return running;
  };
  const timer = setInterval(() => {
    // A failing disk is told by `notReady`; the next sweep finds what this one left.
    if (!stopped) run().catch(() => {});
  }, everyMs);
  timer.unref();
  return {
    run,
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await running?.catch(() => {});
    },
  };
}
