import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realStackMissing } from '@headset-cloud/demo/stack/backing.ts';
import { verifyCanFail } from './can-fail.ts';
import type { Fault } from './fault.ts';
import { describeCheck, describeFindings, describeRun } from './report.ts';
import { abandon, discard, run } from './run.ts';
import { planRounds } from './schedule.ts';
import { targetsOf } from './targets.ts';
import type { Check } from './verify/check.ts';

/**
 * The crash test. Variables: STACK=embedded|real; ROUNDS (default 20); MINUTES (time limit for the start of rounds,
 * default none); SEED (random by default; replays the schedule and the load's choices); FAULTS (only these types,
 * separated by commas: fault.ts); INSTANCES (default 1; of every service and the gateway on the real stack).
 * CAN_FAIL=0 skips the runs with removed safeguards; CAN_FAIL=only runs only them (the real stack runs them only then).
 * The last line counts checks.
 */
const kind = process.env['STACK'] === 'real' ? 'real' : 'embedded';
const count = Number(process.env['ROUNDS'] || 20);
const instances = Number(process.env['INSTANCES'] || 1);
const minutes = process.env['MINUTES'] ? Number(process.env['MINUTES']) : undefined;
const seed = Number(process.env['SEED'] || Date.now() % 1_000_000_000);
const only = process.env['FAULTS']?.split(',') as Fault['kind'][] | undefined;
const canFail = process.env['CAN_FAIL'];
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  if (!Number.isSafeInteger(count) || count < 1) throw new Error('ROUNDS is not a number of rounds');
  if (!Number.isSafeInteger(instances) || instances < 1) throw new Error('INSTANCES is not a number');
  if (minutes !== undefined && !(minutes > 0)) throw new Error('MINUTES is not a number of minutes');
  if (!Number.isSafeInteger(seed)) throw new Error('SEED is not a whole number');
  const missing = kind === 'real' ? realStackMissing() : undefined;
  if (missing) {
    say(`The real stack cannot run on this machine: ${missing}`);
    const demanded = Boolean(process.env['REQUIRE_REAL_STACK']);
    say(demanded ? '0 passed, 1 failed' : '0 passed, 0 failed, 1 skipped');
    return demanded ? 1 : 0;
  }
  const checks: Check[] = [];
  if (canFail !== 'only') checks.push(...(await itself()));
  // The real stack runs them only on request: detection depends on the timing of an offer and an expired lease.
  if (canFail === 'only' || (kind === 'embedded' && canFail !== '0')) {
    say('\nthe same test with removed safeguards must report violations');
    const shown = await verifyCanFail(kind, seed, say);
    for (const check of shown) for (const line of describeCheck(check)) say(line);
    checks.push(...shown);
  }
  const failed = checks.filter((c) => c.violations.length > 0).length;
  say(`\n${checks.length - failed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

async function itself(): Promise<readonly Check[]> {
  say(`crash test on the ${kind} stack: ${count} rounds, SEED=${seed}`);
  const result = await run({
    kind,
    seed,
    rounds: (world) => planRounds(seed, count, { ...targetsOf(world), ...(only && { only }) }),
    ...(minutes !== undefined && { roundsForMs: minutes * 60_000 }),
    instances,
    load: { commanders: 3, cancelAwayShare: 0.08, pairShare: 0.04, pauseMs: 160 },
    effectMs: 30,
    settleMs: 120_000,
    say,
  });
  say(`\n${describeRun(result).join('\n')}\n`);
  const broken = result.checks.some((c) => c.violations.length > 0);
  for (const check of result.checks) for (const line of describeCheck(check)) say(line);
  if (broken) writeFileSync(join(result.dataDir, 'findings.txt'), describeFindings(result, kind, seed));
  if (broken)
    say(
      `\nData folder: ${result.dataDir} (findings.txt, logs, evidence.json, headset-state); repeat with SEED=${seed}`,
    );
  else discard(result);
  return result.checks;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void abandon().finally(() => process.exit(1)));
}
try {
  process.exitCode = await main();
} catch (error) {
  say((error as Error).stack ?? String(error));
  say('0 passed, 1 failed');
  process.exitCode = 1;
}
