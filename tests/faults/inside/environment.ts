import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What the preload does in a process. */
export interface Inside {
  /** host:port of a target, and of the relay that is connected to instead. */
  readonly routes?: Readonly<Record<string, string>>;
  /** A file with the number of milliseconds by which the wall clock is off; missing: by none. */
  readonly clockFile?: string;
}

/** The environment that brings the preload into a process of Node.js. */
export function insideOf(inside: Inside): Record<string, string> {
  const preload = pathToFileURL(join(import.meta.dirname, 'preload.ts')).href;
  return { NODE_OPTIONS: `--import=${preload}`, FAULTS_INSIDE: JSON.stringify(inside) };
}
