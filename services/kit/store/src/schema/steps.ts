import type { ServiceName } from '@headset-cloud/runtime/service-names.ts';
import type { IndexDescription } from '../operations.ts';

/**
 * One step of a database's schema (ADR 0034). Processes of the last release run on a database with all steps: beside
 * newer processes during an upgrade (ADR 0016), and alone after a rollback. So a step only makes additions that the
 * last release can ignore. A step removes nothing. It adds no requirement (`unique`) to a collection that the last
 * release writes, except for documents with a field that the last release never writes (`partialFilterExpression` with
 * `$exists`). A released step never changes; each change is a new step.
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

/**
 * The operators' command that runs all steps and creates all topics, for the messages of processes that wait for it.
 */
export const prepareCommand = 'node services/prepare/src/main.ts';

/** Returns the first step after the highest completed step; undefined: all are completed. */
export function nextStep({ steps }: ServiceSteps, done: number): Step | undefined {
  return steps.find(({ number }) => number > done);
}

/** Returns the description of a step for logs and /readyz. */
export function stepText({ service, database = service }: ServiceSteps, { number, name }: Step): string {
  return `step ${number} (${name}) of the database of ${database}`;
}
