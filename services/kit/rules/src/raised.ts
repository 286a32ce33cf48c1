import type { Store } from '@headset-cloud/store/types.ts';

/**
 * How far one raise advances each number that other systems remember (ADR 0035): more than a platform issues between
 * a backup and its restore, and small enough that 2^53 is never reached.
 */
export const raiseStep = 1_000_000_000;

/** How far a database was raised after restores from a backup: one document; none before the first. */
interface RaisedDocument {
  _id: string;
  /** Sum of all raises; number sequences that restart begin above it. */
  by: number;
}

const collection = 'raised';
const id = 'raised';

/** Sum of all raises: numbers that the restored database does not know begin above it; 0 without a restore. */
export async function raisedBy(store: Store): Promise<number> {
  return (await store.collection<RaisedDocument>(collection).findOne({ _id: id }))?.by ?? 0;
}

/** Stores one more raise. */
export async function noteRaise(store: Store): Promise<void> {
  const raised = store.collection<RaisedDocument>(collection);
  await raised.updateOne({ _id: id }, { $inc: { by: raiseStep } }, { upsert: true });
}

/** One service's part of a raise. */
export interface Raising {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** True: only reports, and changes nothing. */
  readonly dryRun: boolean;
}

/** Numbers that a raise changed, or would change, by their names in the log. */
export type RaiseReport = Readonly<Record<string, number>>;
