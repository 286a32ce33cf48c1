import type { LineFile } from './line-file.ts';

/** One line of the effects file: an operation that took effect on the headset. */
export interface Effect {
  readonly transactionId: number;
  /** The OpenAPI operationId of the call that caused the effect. */
  readonly operation: string;
  /** Only for a command with extras: the text of each extra that the called app receives. */
  readonly extras?: Readonly<Record<string, string>>;
  /** False: the called app has not returned. Absent: the effect is complete. */
  readonly returned?: false;
}

/**
 * The effects on a headset: one line per effect, in a separate file. A line stands for the real effect, for example
 * the call of an app. Tests count the lines to prove "exactly once". An effect that has a line is never repeated.
 */
export class Effects {
  readonly #file: LineFile;
  readonly #done = new Set<number>();
  /** App calls that an earlier process began and that did not return before the process died. */
  readonly #interrupted = new Set<number>();

  constructor(file: LineFile) {
    this.#file = file;
    for (const { transactionId, returned } of this.#file.read() as Effect[]) {
      this.#done.add(transactionId);
      if (returned === false) this.#interrupted.add(transactionId);
    }
  }

  /** Whether the process died during the app call of this transaction. */
  isInterrupted(transactionId: number): boolean {
    return this.#interrupted.has(transactionId);
  }

  has(transactionId: number): boolean {
    return this.#done.has(transactionId);
  }

  get count(): number {
    return this.#done.size;
  }

  /** Records the effect. Returns false if it was recorded before. */
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
