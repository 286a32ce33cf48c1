import type { ServiceName } from '../service.ts';
import type { IndexDescription } from '../store/operations.ts';

/**
 * One step of a database's schema (ADR 0034). The last release's processes run beside newer ones (ADR 0016),
 * and after a rollback alone, on a database whose steps are done: so a step only adds what they need not
 * know. It removes nothing, and it demands nothing (`unique`) of a collection that they write, except of documents
 * with a field that they never write (`partialFilterExpression` with `$exists`). A step that was released never
 * changes; a change is a new step.
 */
export interface Step {
  /** 1, 2, 3 and so on, without a gap. */
  readonly number: number;
  /** What it is about, in a few words, for logs and /readyz. */
  readonly name: string;
  /** The indexes that it makes, by collection. */
  readonly indexes: Readonly<Record<string, readonly IndexDescription[]>>;
}

/** The steps of one service's database, in order. */
export interface ServiceSteps {
  readonly service: ServiceName;
  /** A database that the service keeps beside its own; absent: its own. */
  readonly database?: string;
  readonly steps: readonly Step[];
}

/** How operators make all steps and topics at once; named wherever something waits for it. */
export const prepareCommand = 'node services/prepare/src/main.ts';

/** The first step above the highest one that is done; undefined: the database has all, or is newer. */
export function nextStep({ steps }: ServiceSteps, done: number): Step | undefined {
  return steps.find(({ number }) => number > done);
}

/** A step as logs and /readyz name it. */
export function stepText({ service, database = service }: ServiceSteps, { number, name }: Step): string {
  return `step ${number} (${name}) of the database of ${database}`;
}
