import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Progress of a measure: `done` of its `of` turns are done. */
type Listener = (done: number, of: number) => void;

let listener: Listener = () => {};

/** Called after each turn. */
export function turnsDone(done: number, of: number): void {
  listener(done, of);
}

/** One measure on one stack, by the name under which its time is stored. */
export interface Planned {
  readonly key: string;
  readonly name: string;
}

export interface Progress {
  /** Runs one measure of the plan, and prints its progress. */
  during<T>(planned: Planned, work: () => Promise<T>): Promise<T>;
}

/**
 * Prints the running measure, its completed turns, and the elapsed part of the whole run's expected time. The expected
 * time is computed once, so that it does not change: from the times of the last run on this machine, which `file`
 * stores, and their mean for a measure that never ran.
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
      const print = (what: string) => say(`${place}: ${what}; ${inWords(now() - begunAt)}${expected}`);
      listener = (done, of) => print(`turn ${done} of ${of} done`);
      print('begins');
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
    // Missing or not readable: no times are known.
    return {};
  }
}

function write(file: string, took: Readonly<Record<string, number>>): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(took));
}
