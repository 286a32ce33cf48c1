import { CliError, exitCodes, refusedError } from './exit-codes.ts';

/** Results of a command for many items. */
export interface Outcome {
  readonly done: readonly string[];
  readonly failed: readonly { readonly item: string; readonly error: CliError }[];
  /** Items that were not started, because the server does not answer or rejects the caller. */
  readonly left: readonly string[];
}

/** After this many unanswered calls in a row, the server counts as unavailable. */
const maxUnanswered = 3;

/**
 * Runs `work` for one item after the other. Reports a failed item to `report` and continues. Skips the remaining items if
 * the server is unavailable or rejects the caller. Throws errors of `work` that are not CliErrors.
 */
export async function attemptEach(
  items: readonly string[],
  work: (item: string) => Promise<unknown>,
  report: (text: string) => void,
): Promise<Outcome> {
  const done: string[] = [];
  const failed: { item: string; error: CliError }[] = [];
  let unanswered = 0;
  for (const [i, item] of items.entries()) {
    try {
      await work(item);
      done.push(item);
      unanswered = 0;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failed.push({ item, error });
      report(`${item}: ${error.message}\n`);
      unanswered = error.exitCode === exitCodes.unreachable ? unanswered + 1 : 0;
      if (unanswered === maxUnanswered || error.exitCode === exitCodes.unauthenticated) {
        return { done, failed, left: items.slice(i + 1) };
      }
    }
  }
  return { done, failed, left: [] };
}

/** Throws a CliError with the counts if an item failed. `what`: past participle for the completed items, "sent again". */
export function requireAll({ done, failed, left }: Outcome, what: string): void {
  if (failed.length === 0) return;
  const rest = left.length > 0 ? `, ${left.length} not tried` : '';
  throw refusedError(`${done.length} ${what}, ${failed.length} failed${rest}.`);
}

/**
 * Runs the work for each item as `attemptEach` does. Throws if an item fails; a single item fails with its own error.
 */
export async function forEachItem(
  items: readonly string[],
  work: (item: string) => Promise<unknown>,
  { report, what }: { readonly report: (text: string) => void; readonly what: string },
): Promise<void> {
  const [only, ...more] = items;
  if (only !== undefined && more.length === 0) await work(only);
  else requireAll(await attemptEach(items, work, report), what);
}
