import { type RunResult, seconds } from './run.ts';
import type { Check } from './verify/check.ts';
import { unanswered } from './verify/transactions.ts';

const shownViolations = 10;

/** Summary of a run as lines of text. */
export function describeRun(result: RunResult): string[] {
  const { evidence, tally } = result;
  const ids = new Set(evidence.arrivals.map((a) => a.webhookId));
  const { calls } = evidence;
  const count = (test: (c: (typeof calls)[number]) => boolean) => calls.filter(test).length;
  const canceled = calls.reduce((sum, c) => sum + (c.canceledIds?.length ?? 0), 0);
  return [
    `calls       ${calls.length} (${result.attempts} attempts), ${count((c) => c.status === 201)} answered 201, ${count((c) => c.status >= 400)} refused`,
    `kinds       ${[...Map.groupBy(calls, (c) => c.kind)].map(([kind, list]) => `${list.length} ${kind}`).join(', ')}; ${canceled} transactions canceled by request`,
    `unanswered  ${unanswered(evidence).length} transactions of calls that were refused after an attempt without an answer`,
    `faults      ${[...tally.faults].map(([kind, n]) => `${n} ${kind}`).join(', ')}`,
    `crashes     ${tally.crashes.length} of ${tally.crashes.length + tally.missed.length} happened${tally.missed.map((at) => `; not ${at}`).join('')}`,
    `effects     ${evidence.effects.length}`,
    `headsets    ${evidence.reports.length} reports, ${evidence.uploads.length} files (${evidence.storedFiles.length} stored), ${evidence.packages.length} packages`,
    `meetings    ${evidence.soraEvents.length} events of Sora, ${evidence.spent.length} uses, ${evidence.recordings.length} recordings in ${evidence.puts.length} parts; ${evidence.lapsedUploads.length} stopped by an expired lease`,
    `callbacks   ${ids.size}, and ${evidence.arrivals.length - ids.size} repeats; ${evidence.impatient.length} overtook earlier ones after the maximum wait`,
    `settled     ${seconds(result.settledInMs)} after the last round`,
  ];
}

/** One line per check, followed by its violations. */
export function describeCheck({ name, violations }: Check): string[] {
  if (violations.length === 0) return [`  ok      ${name}`];
  const more = violations.length - shownViolations;
  return [
    `  FAILED  ${name}: ${violations.length}`,
    ...violations.slice(0, shownViolations).map((v) => `            ${v}`),
    ...(more > 0 ? [`            and ${more} more`] : []),
  ];
}

/** The stack, the seed and all rounds of a run, and all violations. */
export function describeFindings(result: RunResult, stack: string, seed: number): string {
  const broken = result.checks.filter((c) => c.violations.length > 0);
  return [
    `stack ${stack}, SEED=${seed}`,
    '',
    ...result.happened,
    '',
    ...broken.flatMap(({ name, violations }) => [
      `${name}: ${violations.length}`,
      ...violations.map((v) => `  ${v}`),
      '',
    ]),
  ].join('\n');
}
