import type { Check } from '../faults/judge/check.ts';
import { exercise } from './exercise.ts';
import type { Begun, Findings } from './findings.ts';
import { type Part, parts, type Version, type World } from './world.ts';

export interface RollOptions {
  readonly world: World;
  readonly findings: Findings;
  readonly begun: Begun[];
  readonly only: readonly Part[];
  readonly say: (line: string) => void;
}

/** Exercises of one roll of all parts: two a swap, two more where headsets connect to both. */
export function exercisesOf(only: readonly Part[]): number {
  return 2 * only.length + (only.includes('device-link') ? 1 : 0);
}

/**
 * Swaps one part after the other to a version, each first beside the one before, then alone. Rolled to the
 * release and to today's in the same order, each part meets each other one in both roles: what calls or
 * publishes is once the older one, once the newer. Answers a check for each part.
 */
export async function roll(to: Version, options: RollOptions): Promise<Check[]> {
  const { world, only, say } = options;
  const checks: Check[] = [];
  for (const part of parts.filter((p) => only.includes(p))) {
    const started = Date.now();
    const violations: string[] = [];
    let waiting = 0;
    const once = async (how: string, door?: string) => {
      const label = `${part} ${how}`;
      const all = await exercise({ ...options, label, ...(door && { door }) }).catch((error: Error) => {
        violations.push(error.message);
        return true;
      });
      if (!all) waiting += 1;
    };
    const other = to === 'today' ? "the release's" : "today's";
    const own = to === 'today' ? "today's" : "the release's";
    await world.swap(part, to, async () => {
      const doors = part === 'device-link' ? world.doors() : [undefined];
      // Each of both takes a headset: what is for the other's is forwarded.
      await Promise.all(
        doors.map((door, i) => once(`${own} beside ${other}${door ? ` (${i + 1})` : ''}`, door)),
      );
    });
    await once(own);
    const name = `${part}: ${own}, beside its ${to === 'today' ? 'older' : 'newer'} one and alone`;
    const notes = waiting > 0 ? `, ${waiting} wait for a newer version` : '';
    say(
      `  ${violations.length > 0 ? 'FAILED' : 'ok    '}  ${name} (${((Date.now() - started) / 1000).toFixed(1)} s${notes})`,
    );
    for (const violation of violations) say(`            ${violation}`);
    checks.push({ name, violations });
  }
  return checks;
}
