import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';
import type { IndexDescription } from '../operations.ts';

/**
 * One step of a database's schema (ADR 0034). The last release's processes run beside newer ones (ADR 0016),
 * and after a rollback alone, on a database with all steps done. So a step only makes additions that the last release
 * can ignore.
 * A step removes nothing and adds no requirement (`unique`) to a collection that they write, except for documents
 * with a field that they never write (`partialFilterExpression` with `$exists`). A released step never
 * changes; each change is a new step.
 */
export interface Step {
  /** 1, 2, 3 and so on, without a gap. */
  readonly number: number;
  /** Short description for logs and /readyz. */
  readonly name: string;
  /** The indexes that the step creates, by collection. */
  readonly indexes: Readonly<Record<string, readonly IndexDescription[]>>;
}

/** The steps of one service's database, in order. */
export interface ServiceSteps {
  readonly service: ServiceName;
  /** A second database of the service; absent: its main database. */
  readonly database?: string;
  readonly steps: readonly Step[];
}

/** Operators' command that creates all steps and topics at once; named wherever a process waits for it. */
export const prepareCommand = 'node services/prepare/src/main.ts';

/** The first step above the highest completed one; undefined: the database has all, or is newer. */
export function nextStep({ steps }: ServiceSteps, done: number): Step | undefined {
  return steps.find(({ number }) => number > done);
}

/** A step as logs and /readyz name it. */
export function stepText({ service, database = service }: ServiceSteps, { number, name }: Step): string {
  return `step ${number} (${name}) of the database of ${database}`;
}
