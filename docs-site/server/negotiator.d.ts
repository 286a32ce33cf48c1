/** What is used of negotiator 1.x; the types that are published are those of 0.6. */
declare module 'negotiator' {
  import type { IncomingMessage } from 'node:http';

  export default class Negotiator {
    constructor(request: IncomingMessage);
    /** The acceptable ones of `available`, the best first; of equal weight in the order of `preferred`. */
    encodings<T extends string>(available: readonly T[], options: { readonly preferred: readonly T[] }): T[];
  }
}
