import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Configuration of the preload of one process. */
export interface Inside {
  /** host:port of each target, and of the relay to connect to instead. */
  readonly routes?: Readonly<Record<string, string>>;
  /** File with the offset of the wall clock in milliseconds. A missing file means no offset. */
  readonly clockFile?: string;
  /** Changes of the product's source text at load time. */
  readonly mutations?: readonly Mutation[];
}

/** A change of the source text that removes a safeguard. */
export interface Mutation {
  /** Relative to the project's root. */
  readonly file: string;
  /** Must occur exactly once in the file. Otherwise, loading fails. */
  readonly from: string;
  readonly to: string;
}

/** Applies a mutation to the text of its file. Throws unless `from` occurs exactly once. */
export function mutate(text: string, { file, from, to }: Mutation): string {
  const [before, after, ...more] = text.split(from);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`${file} must contain this text exactly once: ${from}`);
  }
  return before + to + after;
}

const preload = pathToFileURL(join(import.meta.dirname, 'preload.ts')).href;

/** Returns the environment that loads the preload into a Node.js process. */
export function insideOf(inside: Inside): Record<string, string> {
  return { NODE_OPTIONS: `--import=${preload}`, FAULTS_INSIDE: JSON.stringify(inside) };
}

/** Returns the environment with which a process of the platform kills itself at a write (crash-points.ts). */
export function crashingAt(at: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=${preload}`, FAULTS_CRASH_AT: at };
}
