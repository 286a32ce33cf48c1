import type { StackKind } from '@headset-cloud/demo/stack/stack.ts';
import type { Check } from './judge/check.ts';
import { discard, run } from './run.ts';
import { sabotages } from './sabotages.ts';

/** Runs the test on a stack with safeguards left out. Each returned check passes if the judge detected it. */
export async function showThatItCanFail(
  kind: StackKind,
  seed: number,
  say: (line: string) => void,
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { without, rounds, load, atLeast, effectMs } of sabotages.filter(
    ({ stack }) => stack === kind,
  )) {
    const result = await run({
      ...{ kind, seed, load, effectMs },
      ...(atLeast && { atLeast }),
      rounds: () => rounds,
      env: Object.assign({}, ...without.map(({ env }) => env)),
      mutations: without.flatMap(({ mutations }) => mutations ?? []),
      instances: kind === 'real' ? 2 : 1,
      settleMs: 5000,
      say: (line) => say(`  ${line}`),
    });
    const shown = without.map(({ name, finds }): Check => {
      const found = result.checks.find((c) => c.name === finds)?.violations.length ?? 0;
      return {
        name: `${name} (${found})`,
        violations: found > 0 ? [] : [`the judge did not report "${finds}"; kept: ${result.dataDir}`],
      };
    });
    if (shown.every(({ violations }) => violations.length === 0)) discard(result);
    checks.push(...shown);
  }
  return checks;
}
