import type { Random } from '../../faults/random.ts';
import type { World } from './world.ts';

/** Result of one case, for the checks. */
export interface Outcome {
  /** The sent bytes; printed if the case fails. */
  readonly sent: Buffer;
  /** True: the transport is intact, so the server must answer. */
  readonly expectsAnswer: boolean;
  /** HTTP status of the first answer; undefined: no answer, or a stream (which has a gRPC status). */
  readonly status?: number | undefined;
  readonly retryAfter?: string | undefined;
  /** A problem that the listener has found. */
  readonly wrong?: string | undefined;
  /** Name under which the case is counted. */
  readonly kind: string;
}

/** An open listener. */
export interface OpenListener {
  /** Runs one case, which depends only on `random`. `lane`: index among concurrent cases. */
  one(random: Random, lane: number): Promise<Outcome>;
  /** Returns problems after all cases. */
  atEnd?(): Promise<string[]>;
}

/** A fuzz test of one listener of the platform. */
export interface Listener {
  /** The proven property, for tests/security/README.md. */
  readonly title: string;
  readonly name: string;
  /** Number of concurrent cases. */
  readonly atOnce: number;
  /** Returns why the listener cannot run on this stack; undefined if it can. */
  missing?(world: World): string | undefined;
  open(world: World): Promise<OpenListener>;
}

/** Defines a listener with its proven property. Comments `// protects against …` above the call list its threats. */
export const fuzz = (title: string, listener: Omit<Listener, 'title'>): Listener => ({ title, ...listener });
