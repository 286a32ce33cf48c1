import type { Check } from '../faults/verify/check.ts';
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

/** Number of exercises for one replacement of all parts: two per part, and one more for device-link. */
export function exercisesOf(only: readonly Part[]): number {
  return 2 * only.length + (only.includes('device-link') ? 1 : 0);
}

/**
 * Replaces one part after the other by a version. Each new process runs first together with the former process, then
 * alone. The order of parts is the same in both directions, so each pair of parts runs in both combinations: the caller
 * or publisher has once the older and once the newer version. Returns a check for each part.
 */
export async function roll(to: Version, options: RollOptions): Promise<Check[]> {
  const { world, only, say } = options;
  const checks: Check[] = [];
  for (const part of parts.filter((p) => only.includes(p))) {
    const started = Date.now();
    const violations: string[] = [];
    let waiting = 0;
    const once = async (how: string, listener?: string) => {
      const label = `${part} ${how}`;
      const all = await exercise({ ...options, label, ...(listener && { listener }) }).catch(
        (error: Error) => {
          violations.push(error.message);
          return true;
        },
      );
      if (!all) waiting += 1;
    };
    const other = to === 'today' ? "the release's" : "today's";
    const own = to === 'today' ? "today's" : "the release's";
    await world.swap(part, to, async () => {
      const listeners = part === 'device-link' ? world.listeners() : [undefined];
      // One headset connects to each of the two processes, so calls for the other's headset are forwarded.
      await Promise.all(
        listeners.map((listener, i) =>
          once(`${own} beside ${other}${listener ? ` (${i + 1})` : ''}`, listener),
        ),
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
