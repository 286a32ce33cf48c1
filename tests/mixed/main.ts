import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realStackMissing } from '@headset-cloud/demo/stack/backing.ts';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { describeCheck } from '../faults/report.ts';
import type { Check } from '../faults/verify/check.ts';
import { sourcesOf } from '../support/sources.ts';
import { verifyCanFail } from './can-fail.ts';
import { type Begun, checkCallbacks, checkDeadLetters, Findings } from './findings.ts';
import { startLoad } from './load.ts';
import { findRelease } from './release.ts';
import { exercisesOf, roll } from './roll.ts';
import { type Configuration, pairedConfigurations, singleConfigurations } from './suite/configurations.ts';
import { runSuite } from './suite/run.ts';
import { type Part, parts, startWorld, type World } from './world.ts';

/**
 * Runs processes of the current version together with processes of the last release: replaces them one by one under
 * load, then runs the end-to-end suite. RELEASE: another commit; PARTS: services (and gateway) to replace; CAN_FAIL=0
 * skips the seeded faults, ROLL=0 also the replacement; SUITE: configurations of the suite, `paired`, `each` or 0 for
 * none; ARGS: arguments of jest. The last line counts checks.
 */
const say = (line: string): void => void process.stdout.write(`${line}\n`);
let current: World | undefined;

async function main(): Promise<number> {
  const only = partsOf(process.env['PARTS'] ?? '');
  const found = findRelease(root, process.env['RELEASE']);
  if ('skipped' in found) {
    say(`skipped: ${found.skipped}`);
    say('0 passed, 0 failed, 1 skipped');
    return 0;
  }
  const missing = realStackMissing();
  if (missing) {
    say(`skipped: the real stack cannot run on this machine: ${missing}`);
    const demanded = Boolean(process.env['REQUIRE_REAL_STACK']);
    say(demanded ? '0 passed, 1 failed, 0 skipped' : '0 passed, 0 failed, 1 skipped');
    return demanded ? 1 : 0;
  }
  say(`the current version together with ${found.name} (${found.commit.slice(0, 12)})`);
  const release = sourcesOf(found.commit);
  const checks = process.env['ROLL'] === '0' ? [] : await run(release, only);
  const failed = checks.filter((c) => c.violations.length > 0).length;
  const sum = { passed: checks.length - failed, failed, skipped: 0 };
  for (const configuration of configurationsOf(process.env['SUITE'] || 'paired')) {
    say(`\nend to end, of ${found.name}: ${configuration.join(', ')}`);
    const tally = await runSuite(
      release,
      configuration,
      process.env['ARGS']?.split(/\s+/).filter(Boolean) ?? [],
    );
    say(`  ${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`);
    sum.passed += tally.passed;
    sum.failed += tally.failed;
    sum.skipped += tally.skipped;
  }
  say(`\n${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
  return sum.failed > 0 ? 1 : 0;
}

function configurationsOf(given: string): readonly Configuration[] {
  if (given === '0') return [];
  if (given === 'paired') return pairedConfigurations();
  if (given === 'each') return singleConfigurations();
  throw new Error('SUITE is neither paired nor each nor 0');
}

async function run(release: string, only: readonly Part[]): Promise<Check[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headset-cloud-mixed-'));
  const findings = new Findings();
  const begun: Begun[] = [];
  const headsets = 2 * exercisesOf(only) + 4;
  const world = await startWorld({ dataDir, release, headsets, findings });
  current = world;
  const checks: Check[] = [];
  try {
    const load = await startLoad(world, findings, begun);
    const options = { world, findings, begun, only, say };
    for (const to of ['release', 'today'] as const) checks.push(...(await roll(to, options)));
    if (process.env['CAN_FAIL'] !== '0') {
      checks.push(...(await verifyCanFail({ world, begun, release, say })));
    }
    const rest = await settle(world, load.end, begun, findings);
    for (const check of rest) for (const line of describeCheck(check)) say(line);
    checks.push(...rest);
  } finally {
    current = undefined;
    await world.stop();
  }
  const broken = checks.filter((c) => c.violations.length > 0);
  if (broken.length === 0) rmSync(dataDir, { recursive: true, force: true });
  else {
    const lines = broken.flatMap(({ name, violations }) => [name, ...violations.map((v) => `  ${v}`)]);
    writeFileSync(join(dataDir, 'findings.txt'), `${lines.join('\n')}\n`);
    say(`\nKept: ${dataDir} (findings.txt, logs)`);
  }
  return checks;
}

/** Waits until waiting events have continued in the current version, and reports remaining problems. */
async function settle(
  world: World,
  endLoad: () => Promise<void>,
  begun: readonly Begun[],
  findings: Findings,
): Promise<Check[]> {
  await endLoad().catch((error: Error) => findings.add('callbacks', error.message));
  const missing = () => checkCallbacks(begun, world.integrator.arrivals);
  const left = async () => checkDeadLetters(await world.deadLetters(), false);
  await waitFor('no finding', async () => missing().length === 0 && (await left()).length === 0, {
    timeoutMs: 60_000,
    intervalMs: 200,
  }).catch(() => {});
  for (const wrong of missing()) findings.add('callbacks', wrong);
  for (const wrong of await left()) findings.add('events', `at the end ${wrong}`);
  const { calls, unavailable, unanswered } = findings;
  const answers = `${calls} calls: every response is a success or 503 with Retry-After (${unavailable}; ${unanswered} without any)`;
  return [
    { name: answers, violations: findings.of('answers') },
    {
      name: `${begun.length} transactions: each has its effect and its signed callbacks, in order, once`,
      violations: findings.of('callbacks'),
    },
    {
      name: 'dead letters only wait for a newer version, and none is left at the end',
      violations: findings.of('events'),
    },
    { name: 'each process that got SIGTERM shut down gracefully', violations: findings.of('processes') },
  ];
}

function partsOf(given: string): readonly Part[] {
  const names = given.split(/[\s,]+/).filter(Boolean);
  for (const name of names) {
    if (!parts.includes(name as Part))
      throw new Error(`PARTS: there is no ${name}, only ${parts.join(', ')}`);
  }
  return names.length > 0 ? (names as Part[]) : parts;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void (current?.stop() ?? Promise.resolve()).finally(() => process.exit(1)));
}
try {
  process.exitCode = await main();
} catch (error) {
  say((error as Error).stack ?? String(error));
  say('0 passed, 1 failed, 0 skipped');
  process.exitCode = 1;
}
// Connections of disconnected clients may linger.
process.exit();
