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
  /** Runs one measure of the plan, and tells how far it is and what remains. */
  during<T>(planned: Planned, work: () => Promise<T>): Promise<T>;
}

/**
 * Tells which measure runs, how many of its turns are done, and how long the rest may take: by the times of the last
 * run on this machine, which lie in `file`, and, for what never ran, by the mean of the others.
 */
export function createProgress(
  plan: readonly Planned[],
  file: string,
  say: (line: string) => void,
  now: () => number = () => performance.now(),
): Progress {
  const took = read(file);
  let begun = 0;
  return {
    async during(planned, work) {
      begun += 1;
      const started = now();
      const place = `${begun} of ${plan.length}, ${planned.name}`;
      const rest = plan.slice(begun);
      const tell = (what: string, leftOfThisMs?: number) => {
        const known = plan.flatMap(({ key }) => took[key] ?? []);
        const mean = known.reduce((sum, ms) => sum + ms, 0) / known.length;
        const restMs = rest.reduce((sum, { key }) => sum + (took[key] ?? mean), 0);
        const left = (leftOfThisMs ?? took[planned.key] ?? mean) + restMs;
        say(`${place}: ${what}${Number.isFinite(left) ? `; about ${inWords(left)} left in all` : ''}`);
      };
      listener = (done, of) => {
        const soFar = now() - started;
        tell(`turn ${done} of ${of} done`, (soFar / done) * (of - done));
      };
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
  const seconds = Math.max(1, Math.round(ms / 1000));
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
