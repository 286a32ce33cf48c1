import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { type FaultyHeadset, faultyHeadsets } from './can-fail.ts';
import { rules } from './rules/all.ts';
import { simulator } from './simulator.ts';
import { type RuleResult, testRule, testRules } from './test-rule.ts';

/**
 * Runs the kit against the simulated headset: every rule must hold, and every rule must fail for a faulty simulated
 * headset. RULES selects rules by prefixes of their ids. CAN_FAIL=0 runs only the first part, CAN_FAIL=only only the
 * second. The last line counts checks.
 */
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const only = (process.env['RULES'] ?? '').split(/[\s,]+/).filter(Boolean);
const chosen = (id: string) => only.length === 0 || only.some((begin) => id.startsWith(begin));
/** More jobs than processors, because rules mostly wait. */
const jobs = 3 * availableParallelism();
const startupMs = 120_000;
/** Timeout for answers in the second part, where a faulty headset may never answer; milliseconds. */
const shortMs = 5000;

let [passed, failed] = [0, 0];
function count(right: boolean, name: string, result?: RuleResult): void {
  if (right) passed += 1;
  else failed += 1;
  say(`${right ? 'ok    ' : 'FAILED'} ${name}`);
  if (right || !result) return;
  say(`    ${result.verdict}: ${result.why}`);
  for (const line of result.exchange) say(`    ${line}`);
  say(result.output.replace(/^/gm, '    '));
}

async function holds(): Promise<void> {
  const options = { command: simulator(), timeoutMs: 60_000, startupMs, jobs };
  const results = await testRules(
    rules.filter(({ id }) => chosen(id)),
    options,
  );
  for (const result of results) {
    count(result.verdict === 'holds', `holds: ${result.rule.id} (${result.seconds.toFixed(1)} s)`, result);
  }
}

/** Checks that each faulty headset fails its rule. */
async function canFail(): Promise<void> {
  const secondsOf = ({ rule }: FaultyHeadset) => rules.find(({ id }) => id === rule)?.seconds ?? 0;
  const queue = faultyHeadsets.filter(({ rule }) => chosen(rule)).sort((a, b) => secondsOf(b) - secondsOf(a));
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { rule: id, name, defect } = next;
      const rule = rules.find((r) => r.id === id);
      if (!rule) {
        count(false, `unknown rule: ${id}`);
        continue;
      }
      const result = await testRule(rule, { command: simulator(defect), timeoutMs: shortMs, startupMs });
      const found = result.verdict === 'broken';
      const why = found ? `: ${result.why}` : '';
      count(found, `broken: ${id} by a headset with: ${name} (${result.seconds.toFixed(1)} s)${why}`, result);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  for (const { id } of rules) {
    if (!faultyHeadsets.some(({ rule }) => rule === id)) count(false, `no faulty headset violates ${id}`);
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
// Run both programs once to fill the compile cache, because killed processes do not write to the cache.
for (const defect of [{}, { fault: 'no-ready' }] as const) {
  execFileSync('/bin/sh', ['-c', simulator({ ...defect, options: '--help' })], { stdio: 'ignore' });
}
const part = process.env['CAN_FAIL'];
await Promise.all([part !== 'only' && holds(), part !== '0' && canFail()]);
say(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
