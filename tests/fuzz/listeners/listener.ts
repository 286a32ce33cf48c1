import type { Random } from '../../faults/random.ts';
import type { World } from './world.ts';

/** Result of one case, for the checks. */
export interface Outcome {
  /** The mutated bytes; shown when the case fails. */
  readonly sent: Buffer;
  /** True: the transport is intact, so the server must answer. */
  readonly expectsAnswer: boolean;
  /** HTTP status of the first answer; undefined: none arrived. A stream has a gRPC status instead. */
  readonly status?: number | undefined;
  readonly retryAfter?: string | undefined;
  /** A problem that the listener itself found. */
  readonly wrong?: string | undefined;
  /** Name under which the case is counted. */
  readonly kind: string;
}

/** A listener that is ready for cases. */
export interface OpenListener {
  /** Runs one case, which depends on `random` only. `lane`: index among concurrent cases. */
  one(random: Random, lane: number): Promise<Outcome>;
  /** Problems that the listener finds after all cases. */
  atEnd?(): Promise<string[]>;
}

/** One listener of the platform and its input. */
export interface Listener {
  /** The proven property, for tests/security/README.md. */
  readonly title: string;
  readonly name: string;
  /** Number of cases under way at the same time. */
  readonly atOnce: number;
  /** Why the listener cannot run on this stack, if so. */
  missing?(world: World): string | undefined;
  open(world: World): Promise<OpenListener>;
}

/** A listener with its proven property; the comments `// protects against …` above name its threats, as above a test. */
export const fuzz = (title: string, listener: Omit<Listener, 'title'>): Listener => ({ title, ...listener });
