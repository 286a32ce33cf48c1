/** The used part of negotiator 1.x. The published types are for version 0.6. */
declare module 'negotiator' {
  import type { IncomingMessage } from 'node:http';

  export default class Negotiator {
    constructor(request: IncomingMessage);
    /** Returns the acceptable codings of `available`, best first; at equal weight in the order of `preferred`. */
    encodings<T extends string>(available: readonly T[], options: { readonly preferred: readonly T[] }): T[];
  }
}
