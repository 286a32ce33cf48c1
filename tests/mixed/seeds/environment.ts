import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A part to remove from a process, so that the process behaves like an older version. */
export interface Seed {
  /** Path of an RPC: /package.Service/Method. */
  readonly rpc?: string;
  /** An enum value of generated code. */
  readonly value?: {
    /** File below `proto/gen`, and its export for the enum. */
    readonly file: string;
    readonly schema: string;
    readonly number: number;
  };
}

/** Returns the environment that removes a part from a process of the sources in `root`. */
export function olderBy(seed: Seed, root: string): Record<string, string> {
  const preload = pathToFileURL(join(import.meta.dirname, 'preload.ts')).href;
  return { NODE_OPTIONS: `--import=${preload}`, MIXED_SEED: JSON.stringify({ ...seed, root }) };
}
