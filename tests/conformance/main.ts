import { rules } from './rules/all.ts';
import { type RuleResult, testRules } from './test-rule.ts';

/**
 * The conformance kit. README.md describes the variables HEADSET, RULES, WITHOUT, TIMEOUT_MS, STARTUP_MS, JOBS and
 * VERBOSE. The last line counts rules.
 */
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const words = (name: string) => (process.env[name] ?? '').split(/[\s,]+/).filter(Boolean);
const number = (name: string, otherwise: number): number => {
  const value = Number(process.env[name] || otherwise);
  if (!(value > 0)) throw new Error(`${name} is not a number above 0`);
  return value;
};

function print({ rule, verdict, why, seconds, exchange, output }: RuleResult): void {
  say(`${verdict.padEnd(14)} ${rule.id} (${seconds.toFixed(1)} s)${why ? `: ${why}` : ''}`);
  const bad = verdict === 'broken' || verdict === 'not tested';
  if (!bad && !process.env['VERBOSE']) return;
  say(`    The page: ${rule.sentence}`);
  for (const line of exchange) say(`    ${line}`);
  if (bad && output) say(`    The client printed:\n${output.trimEnd().replace(/^/gm, '      ')}`);
}

async function main(): Promise<number> {
  const command = process.env['HEADSET'];
  if (!command) {
    say("HEADSET is missing. Set the command that starts the client: make conformance HEADSET='./client'");
    return 2;
  }
  const [only, without] = [words('RULES'), words('WITHOUT')];
  const chosen = rules.filter(
    ({ id }) =>
      (only.length === 0 || only.some((begin) => id.startsWith(begin))) &&
      !without.some((begin) => id.startsWith(begin)),
  );
  if (chosen.length === 0) {
    say(`No rule matches RULES and WITHOUT. The rules are:\n${rules.map(({ id }) => `  ${id}`).join('\n')}`);
    return 2;
  }
  const results = await testRules(chosen, {
    command,
    timeoutMs: number('TIMEOUT_MS', 30_000),
    startupMs: number('STARTUP_MS', 60_000),
    jobs: number('JOBS', 6),
    onResult: print,
  });
  const count = (verdict: RuleResult['verdict']) => results.filter((j) => j.verdict === verdict).length;
  const bad = results.filter(({ verdict }) => verdict === 'broken' || verdict === 'not tested');
  if (bad.length > 0) say('\nBroken:');
  for (const { rule, why } of bad) say(`  ${rule.id}: ${rule.sentence}\n      ${why}`);
  say(`\n${count('holds')} passed, ${bad.length} failed, ${count('not applicable')} skipped`);
  return bad.length > 0 ? 1 : 0;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();
