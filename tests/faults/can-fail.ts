import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import { mutationRuns } from './mutation-runs.ts';
import { discard, run } from './run.ts';
import type { Check } from './verify/check.ts';

/** Runs the test with safeguards removed. A returned check passes if the expected check of that run has failed. */
export async function verifyCanFail(
  kind: StackKind,
  seed: number,
  say: (line: string) => void,
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { removed, rounds, load, atLeast, effectMs } of mutationRuns.filter(
    ({ stack }) => stack === kind,
  )) {
    const result = await run({
      ...{ kind, seed, load, effectMs },
      ...(atLeast && { atLeast }),
      rounds: () => rounds,
      env: Object.assign({}, ...removed.map(({ env }) => env)),
      mutations: removed.flatMap(({ mutations }) => mutations ?? []),
      instances: kind === 'real' ? 2 : 1,
      settleMs: 5000,
      say: (line) => say(`  ${line}`),
    });
    const shown = removed.map(({ name, finds }): Check => {
      const found = result.checks.find((c) => c.name === finds)?.violations.length ?? 0;
      return {
        name: `${name} (${found})`,
        violations: found > 0 ? [] : [`the check "${finds}" did not fail; data folder: ${result.dataDir}`],
      };
    });
    if (shown.every(({ violations }) => violations.length === 0)) discard(result);
    checks.push(...shown);
  }
  return checks;
}
