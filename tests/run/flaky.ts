import type { Failure, Outcome } from './step.ts';

/** More failed tests than this in one step are no coincidence: the step is not repeated. */
const repeatedAtMost = 10;

/**
 * Repeats the failed tests of each step alone, once: the files of failed tests of a Jest run, otherwise the whole
 * step. Tests that pass now are flaky: they count as passed and are listed.
 */
export async function repeatFailed(
  outcomes: readonly Outcome[],
  execute: (step: Outcome['step'], files: readonly string[] | undefined) => Promise<Outcome>,
): Promise<Outcome[]> {
  const judged: Outcome[] = [];
  for (const outcome of outcomes) {
    const { failed } = outcome.tally;
    if (failed === 0 || failed > repeatedAtMost) judged.push(outcome);
    else judged.push(merge(outcome, await execute(outcome.step, filesOf(outcome.failures))));
  }
  return judged;
}

/** The files of the failed tests; undefined if a failure has none. */
function filesOf(failures: readonly Failure[]): readonly string[] | undefined {
  const files = failures.flatMap(({ file }) => file ?? []);
  return files.length === failures.length && files.length > 0 ? [...new Set(files)] : undefined;
}

function merge(first: Outcome, second: Outcome): Outcome {
  const failsAgain = (failure: Failure) =>
    second.failures.some(({ name, file }) => name === failure.name && file === failure.file);
  // A step that is no Jest run passes or fails as a whole.
  const flaky =
    first.step.counts === 'jest'
      ? first.failures.filter((failure) => !failsAgain(failure))
      : second.tally.failed === 0
        ? first.failures
        : [];
  const isNew = (failure: Failure) => !first.failures.some(({ name }) => name === failure.name);
  const failures =
    first.step.counts === 'jest'
      ? [...first.failures.filter(failsAgain), ...second.failures.filter(isNew)]
      : second.failures;
  const failed = first.step.counts === 'jest' ? failures.length : second.tally.failed;
  return {
    ...first,
    seconds: first.seconds + second.seconds,
    tally: { ...first.tally, failed, passed: first.tally.passed + Math.max(0, first.tally.failed - failed) },
    failures,
    flaky,
  };
}
