import type { Span } from './month.ts';

/** An activation or deactivation that took effect. */
export interface LifecycleChange {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Activation epoch. It rises with the device's changes and gives their order, whatever the order of arrival. */
  readonly epoch: number;
  readonly kind: 'activated' | 'deactivated';
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Set if a deactivation undid a canceled activation, which then does not count (ADR 0063). */
  readonly undone?: true;
}

/** A device's activation by the bill's application, as the bill needs it. */
export interface Activity {
  readonly inMonth: boolean;
  /** Activated now, by the newest known change. */
  readonly now: boolean;
}

/**
 * Folds one application's changes of one device, which must be passed in the order of activation epochs. A deactivation
 * whose activation is not known yet changes nothing. A new client id of the application continues the activation
 * without a break. A clock that was set back between two changes makes an activation short, never negative.
 */
export class ActivityFold {
  readonly #span: Span;
  #sinceMs: number | undefined;
  #inMonth = false;

  constructor(span: Span) {
    this.#span = span;
  }

  add({ kind, atMs, undone }: Pick<LifecycleChange, 'kind' | 'atMs' | 'undone'>): void {
    if (kind === 'activated') this.#sinceMs ??= atMs;
    else if (this.#sinceMs !== undefined) {
      if (!undone) this.#inMonth ||= this.#overlaps(this.#sinceMs, Math.max(atMs, this.#sinceMs));
      this.#sinceMs = undefined;
    }
  }

  get activity(): Activity {
    const now = this.#sinceMs !== undefined;
    const open = this.#sinceMs !== undefined && this.#overlaps(this.#sinceMs, Number.POSITIVE_INFINITY);
    return { inMonth: this.#inMonth || open, now };
  }

  /**
   * An activation that ends at the month's first moment does not count, unless it also began at that
   * moment.
   */
  #overlaps(sinceMs: number, untilMs: number): boolean {
    const { fromMs, toMs } = this.#span;
    return sinceMs < toMs && (untilMs > fromMs || sinceMs >= fromMs);
  }
}
