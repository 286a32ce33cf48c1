import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { type FaultyHeadset, faultyHeadsets } from './can-fail.ts';
import { type Judgement, judge, judgeAll } from './judge.ts';
import { rules } from './rules/all.ts';
import { simulator } from './simulator.ts';

/**
 * Runs the kit against the simulated headset: every rule must hold, and every rule must fail for a simulated
 * headset that breaks it. RULES selects rules by the beginnings of their ids; CAN_FAIL=0 leaves the second
 * part out, CAN_FAIL=only the first. The last line counts.
 */
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const only = (process.env['RULES'] ?? '').split(/[\s,]+/).filter(Boolean);
const chosen = (id: string) => only.length === 0 || only.some((begin) => id.startsWith(begin));
/** Most of the time is spent waiting. */
const jobs = 3 * availableParallelism();
const startupMs = 120_000;
/** How long a broken rule may wait for an answer that never comes. */
const shortMs = 5000;

let [passed, failed] = [0, 0];
function count(right: boolean, name: string, judgement?: Judgement): void {
  if (right) passed += 1;
  else failed += 1;
  say(`${right ? 'ok    ' : 'FAILED'} ${name}`);
  if (right || !judgement) return;
  say(`    ${judgement.verdict}: ${judgement.why}`);
  for (const line of judgement.exchange) say(`    ${line}`);
  say(judgement.output.replace(/^/gm, '    '));
}

async function holds(): Promise<void> {
  const options = { command: simulator(), timeoutMs: 60_000, startupMs, jobs };
  const judgements = await judgeAll(
    rules.filter(({ id }) => chosen(id)),
    options,
  );
  for (const judgement of judgements) {
    count(
      judgement.verdict === 'holds',
      `holds: ${judgement.rule.id} (${judgement.seconds.toFixed(1)} s)`,
      judgement,
    );
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
        count(false, `no rule is named ${id}`);
        continue;
      }
      const judgement = await judge(rule, { command: simulator(defect), timeoutMs: shortMs, startupMs });
      const found = judgement.verdict === 'broken';
      const why = found ? `: ${judgement.why}` : '';
      count(
        found,
        `broken: ${id} by a headset with: ${name} (${judgement.seconds.toFixed(1)} s)${why}`,
        judgement,
      );
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  for (const { id } of rules) {
    if (!faultyHeadsets.some(({ rule }) => rule === id)) count(false, `no faulty headset breaks ${id}`);
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
// Loads both programs once, because a killed process writes nothing to the compile cache.
for (const defect of [{}, { fault: 'no-ready' }] as const) {
  execFileSync('/bin/sh', ['-c', simulator({ ...defect, options: '--help' })], { stdio: 'ignore' });
}
const part = process.env['CAN_FAIL'];
await Promise.all([part !== 'only' && holds(), part !== '0' && canFail()]);
say(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
