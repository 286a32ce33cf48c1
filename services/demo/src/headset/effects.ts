import type { LineFile } from './line-file.ts';

/** One line of the effects file: an effect that has taken place on the headset. */
export interface Effect {
  readonly transactionId: number;
  /** The OpenAPI operationId of the call that caused it. */
  readonly operation: string;
  /** Only for a command with extras: each extra as the called app gets it, as text. */
  readonly extras?: Readonly<Record<string, string>>;
  /** False: the call of an app that has not returned. Absent: what took place has ended. */
  readonly returned?: false;
}

/**
 * The effects on a headset, separate from its journal: one line per effect. It stands for the real effect
 * (an app that was called), so tests count its lines to prove "exactly once". An effect that has a line
 * does not take place again.
 */
export class Effects {
  readonly #file: LineFile;
  readonly #done = new Set<number>();
  /** Calls that an earlier process began, and that did not return before it died. */
  readonly #interrupted = new Set<number>();

  constructor(file: LineFile) {
    this.#file = file;
    for (const { transactionId, returned } of this.#file.read() as Effect[]) {
      this.#done.add(transactionId);
      if (returned === false) this.#interrupted.add(transactionId);
    }
  }

  /** Whether it is a call that the death of the headset interrupted. */
  isInterrupted(transactionId: number): boolean {
    return this.#interrupted.has(transactionId);
  }

  has(transactionId: number): boolean {
    return this.#done.has(transactionId);
  }

  get count(): number {
    return this.#done.size;
  }

  /** Records the effect, unless it has taken place before. True when it took place now. */
  apply(effect: Effect): boolean {
    if (this.#done.has(effect.transactionId)) return false;
    this.#file.append(effect);
    this.#done.add(effect.transactionId);
    return true;
  }

  close(): void {
    this.#file.close();
  }
}
