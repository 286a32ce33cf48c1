import type { Store } from '@headset-cloud/store/types.ts';

/**
 * Amount by which one raise advances each number that other systems remember (ADR 0035). It is more than the numbers
 * that a platform issues between a backup and its restore, and small enough that 2^53 is never reached.
 */
export const raiseStep = 1_000_000_000;

/** Amount by which a database was raised after restores from a backup. One document; none before the first restore. */
interface RaisedDocument {
  _id: string;
  /** Sum of all raises; number sequences that restart begin above it. */
  by: number;
}

const collection = 'raised';
const id = 'raised';

/** Returns the sum of all raises, 0 without a restore. Number sequences without a stored value begin above it. */
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
  /** True: only returns the report, and changes nothing. */
  readonly dryRun: boolean;
}

/** Numbers that a raise changed, or would change, by their names in the log. */
export type RaiseReport = Readonly<Record<string, number>>;
