import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What the preload does in a process. */
export interface Inside {
  /** host:port of a target, and of the relay that is connected to instead. */
  readonly routes?: Readonly<Record<string, string>>;
  /** A file with the number of milliseconds by which the wall clock is off; missing: by none. */
  readonly clockFile?: string;
  /** Changes of the product's text, as the process loads it. */
  readonly mutations?: readonly Mutation[];
}

/** One place in the source that reads otherwise: a safeguard that is left out. */
export interface Mutation {
  /** From the project's root. */
  readonly file: string;
  /** Stands there exactly once; else loading fails. */
  readonly from: string;
  readonly to: string;
}

/** A mutation applied to the text of its file. Throws when there is not exactly one such place. */
export function mutate(text: string, { file, from, to }: Mutation): string {
  const [before, after, ...more] = text.split(from);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`${file} must hold this exactly once, to leave it out: ${from}`);
  }
  return before + to + after;
}

/** The environment that brings the preload into a process of Node.js. */
export function insideOf(inside: Inside): Record<string, string> {
  const preload = pathToFileURL(join(import.meta.dirname, 'preload.ts')).href;
  return { NODE_OPTIONS: `--import=${preload}`, FAULTS_INSIDE: JSON.stringify(inside) };
}
