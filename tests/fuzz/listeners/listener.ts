import type { Random } from '../../faults/random.ts';
import type { World } from './world.ts';

/** How one case went, for the judge. */
export interface Outcome {
  /** The bytes that say what was wrong with it; shown when it fails. */
  readonly sent: Buffer;
  /** True: the transport was left intact, so that an answer is owed. */
  readonly owed: boolean;
  /** HTTP status of the first answer; undefined: none came. A stream has a status of gRPC instead. */
  readonly status?: number | undefined;
  readonly retryAfter?: string | undefined;
  /** Why this must never be, as the listener itself sees it. */
  readonly wrong?: string | undefined;
  /** A name to count it by. */
  readonly kind: string;
}

/** A listener that is ready for cases. */
export interface OpenListener {
  /** One case; everything about it comes from `random`. `lane`: of those under way at the same time. */
  one(random: Random, lane: number): Promise<Outcome>;
  /** What the listener finds wrong when all cases are over. */
  atEnd?(): Promise<string[]>;
}

/** One listener of the platform and what is sent to it. */
export interface Listener {
  /** What the tests prove, for tests/security/README.md. */
  readonly title: string;
  readonly name: string;
  /** Number of cases under way at the same time. */
  readonly atOnce: number;
  /** Why it cannot run on this stack, if it cannot. */
  missing?(world: World): string | undefined;
  open(world: World): Promise<OpenListener>;
}

/** A listener by what it shows; the comments `// protects against …` above name its threats, as above a test. */
export const fuzz = (title: string, listener: Omit<Listener, 'title'>): Listener => ({ title, ...listener });
