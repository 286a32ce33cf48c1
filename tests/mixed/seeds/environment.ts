import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A part that is removed from a process, so that it behaves as an older version; proves that the test can fail. */
export interface Seed {
  /** Path of an RPC: /package.Service/Method. */
  readonly rpc?: string;
  /** A value of an enum of generated code. */
  readonly value?: {
    /** File below `proto/gen`, and its export for the enum. */
    readonly file: string;
    readonly schema: string;
    readonly number: number;
  };
}

/** The environment that makes a process of the sources in `root` behave as older. */
export function olderBy(seed: Seed, root: string): Record<string, string> {
  const preload = pathToFileURL(join(import.meta.dirname, 'preload.ts')).href;
  return { NODE_OPTIONS: `--import=${preload}`, MIXED_SEED: JSON.stringify({ ...seed, root }) };
}
