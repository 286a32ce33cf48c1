import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** What a measure is doing: so many of its turns are done. */
type Listener = (done: number, of: number) => void;

let listener: Listener = () => {};

/** Called by what runs in turns. */
export function turnsDone(done: number, of: number): void {
  listener(done, of);
}

/** One measure on one stack, by the name that its time is remembered under. */
export interface Planned {
  readonly key: string;
  readonly name: string;
}

export interface Progress {
  /** Runs one measure of the plan, and prints how far it is. */
  during<T>(planned: Planned, work: () => Promise<T>): Promise<T>;
}

/**
 * Prints which measure runs, how many of its turns are done, and how much of the whole run's expected time is over. The
 * expected time is computed once, so that it does not jump: by the times of the last run on this machine, which lie in
 * `file`, and by their mean for a measure that never ran.
 */
export function createProgress(
  plan: readonly Planned[],
  file: string,
  say: (line: string) => void,
  now: () => number = () => performance.now(),
): Progress {
  const took = read(file);
  const known = plan.flatMap(({ key }) => took[key] ?? []);
  const mean = known.reduce((sum, ms) => sum + ms, 0) / known.length;
  const expectedMs = plan.reduce((sum, { key }) => sum + (took[key] ?? mean), 0);
  const expected = Number.isFinite(expectedMs) ? ` of about ${inWords(expectedMs)}` : '';
  const begunAt = now();
  let begun = 0;
  return {
    async during(planned, work) {
      begun += 1;
      const started = now();
      const place = `${begun} of ${plan.length}, ${planned.name}`;
      const tell = (what: string) => say(`${place}: ${what}; ${inWords(now() - begunAt)}${expected}`);
      listener = (done, of) => tell(`turn ${done} of ${of} done`);
      tell('begins');
      try {
        const answer = await work();
        took[planned.key] = now() - started;
        write(file, took);
        return answer;
      } finally {
        listener = () => {};
      }
    },
  };
}

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

function read(file: string): Record<string, number> {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const entries = Object.entries(content ?? {}).filter(([, ms]) => typeof ms === 'number' && ms > 0);
    return Object.fromEntries(entries);
  } catch {
    // Not there yet, or not readable: nothing is known.
    return {};
  }
}

function write(file: string, took: Readonly<Record<string, number>>): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(took));
}
