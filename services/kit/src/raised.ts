import type { Store } from './store/types.ts';

/**
 * By how much a raise lifts each number that others remember (ADR 0035): more than a platform gives between
 * a backup and its restore, and so little that 2^53 is never reached.
 */
export const raiseStep = 1_000_000_000;

/** How far a database was raised after restores from a backup: one document; none before the first. */
interface RaisedDocument {
  _id: string;
  /** The sum of all raises; numbers that begin again begin above it. */
  by: number;
}

const collection = 'raised';
const id = 'raised';

/** Above this begin the numbers of what the restored database does not know; 0 without a restore. */
export async function raisedBy(store: Store): Promise<number> {
  return (await store.collection<RaisedDocument>(collection).findOne({ _id: id }))?.by ?? 0;
}

/** Notes one more raise. */
export async function noteRaise(store: Store): Promise<void> {
  const raised = store.collection<RaisedDocument>(collection);
  await raised.updateOne({ _id: id }, { $inc: { by: raiseStep } }, { upsert: true });
}

/** One service's part of a raise. */
export interface Raising {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Looks, and changes nothing. */
  readonly dryRun: boolean;
}

/** What a raise did, or would do, by a name for the log. */
export type RaiseReport = Readonly<Record<string, number>>;
