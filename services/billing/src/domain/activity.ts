import type { Span } from './month.ts';

/** An activation or deactivation that took effect. */
export interface LifecycleChange {
  readonly applicationId: string;
  readonly deviceId: string;
  /** Activation epoch. It rises with each change of the device and defines the order of the changes. */
  readonly epoch: number;
  readonly kind: 'activated' | 'deactivated';
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Set if the deactivation undid a canceled activation. This activation is not billed (ADR 0063). */
  readonly undone?: true;
}

/** A device's activation by the bill's application, as the bill needs it. */
export interface Activity {
  /** True if the device was activated at some time in the month. */
  readonly inMonth: boolean;
  /** True if the device is activated after the newest known change. */
  readonly now: boolean;
}

/**
 * Computes the activity of one device from the changes by one application. Pass the changes in the order of activation
 * epochs. A deactivation without a known activation changes nothing. A second activation, with a new client id of the
 * application, continues the first. If a clock was set back between two changes, the activation has no duration.
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
   * True if an activation is in the month. An activation that ends at the first moment of the month is in it only if it
   * also began at that moment.
   */
  #overlaps(sinceMs: number, untilMs: number): boolean {
    const { fromMs, toMs } = this.#span;
    return sinceMs < toMs && (untilMs > fromMs || sinceMs >= fromMs);
  }
}
