import { changedRecently } from './changed.ts';
import { execute } from './execute.ts';
import { repeatFailed } from './flaky.ts';
import { runAll } from './schedule.ts';
import type { Outcome, Step, Tally } from './step.ts';
import { conditionalSteps, isDemanded, longSteps, quickSteps, slowSteps } from './steps.ts';

/**
 * Runs the checks of `make check` (argument `check`), `make test` (none) or `make test-long` (`long`). A failed
 * test runs once more alone; if it passes then, the run stays green and lists the test as flaky. The last line
 * is `N passed, N failed, N skipped`.
 */
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const mode = process.argv[2];
const conditional = conditionalSteps.filter(
  ({ ifChanged }) => mode === 'long' || changedRecently(ifChanged ?? []),
);
const usual = slowSteps.filter(({ ifDemanded }) => mode === 'long' || isDemanded || !ifDemanded);
const outcomes = await runAll(quickSteps, (step, env) => execute(step, { env }));
if (mode !== 'check') {
  const steps = [...conditional, ...usual, ...(mode === 'long' ? longSteps : [])];
  outcomes.push(...(await runAll(steps, (step, env) => execute(step, { env }))));
}
const judged = await repeatFailed(outcomes, (step, files) => execute(step, files ? { files } : {}));

const sum = (of: keyof Tally) => judged.reduce((all, { tally }) => all + tally[of], 0);
const row = ({ step, tally, seconds }: Outcome) =>
  `${seconds.toFixed(1).padStart(7)} s  ${tally.failed > 0 ? 'FAILED' : 'ok    '}  ${step.name}: ${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped\n`;
const shown = 12;
const list = (title: string, of: 'failures' | 'flaky') =>
  judged
    .filter((outcome) => outcome[of].length > 0)
    .map(
      (outcome) =>
        `\n${title} ${outcome.step.name}:\n${outcome[of]
          .slice(0, shown)
          .map(({ name, reason }) => `  ${name}: ${reason}`.slice(0, 300))
          .join('\n')}\n`,
    )
    .join('');
const leftOut = (title: string, steps: readonly Step[]) =>
  mode !== 'check' && steps.length > 0
    ? `\n${title} (make test-long runs them): ${steps.map(({ name }) => name).join('; ')}\n`
    : '';
process.stdout.write(
  leftOut(
    'Not run, because their files did not change',
    conditionalSteps.filter((step) => !conditional.includes(step)),
  ),
);
process.stdout.write(
  leftOut(
    'Not run, because REQUIRE_REAL_STACK is not 1',
    slowSteps.filter((step) => !usual.includes(step)),
  ),
);
process.stdout.write(
  `\n${judged.map(row).join('')}${list('failed in', 'failures')}${list('flaky in', 'flaky')}\n${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`,
);
process.exit(sum('failed') > 0 ? 1 : 0);
