import type { Behaviour } from './behaviour.ts';
import type { ReportBody } from './outbox.ts';

/** The share of an update's progress that is loading; the rest is installing. */
const loadingShare = 0.9;

/** Reports an update's progress at the interval of the behaviour, until it is stopped. */
export class ProgressReports {
  #value = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #transactionId: number;
  readonly #behaviour: Behaviour;
  readonly #report: (body: ReportBody) => void;

  constructor(transactionId: number, behaviour: Behaviour, report: (body: ReportBody) => void) {
    this.#transactionId = transactionId;
    this.#behaviour = behaviour;
    this.#report = report;
    this.#next();
  }

  /** Sets the progress of the download, 0.0 to 1.0; it never goes down. */
  loaded(fraction: number): void {
    this.#value = Math.max(this.#value, loadingShare * Math.min(1, fraction));
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #next(): void {
    this.#timer = setTimeout(() => {
      this.#send();
      this.#next();
    }, this.#behaviour.progressIntervalMs).unref();
  }

  #send(): void {
    const progress = this.#value;
    const message = progress < loadingShare ? 'loading' : 'installing';
    this.#report({
      case: 'progress',
      value: { transactionId: BigInt(this.#transactionId), progress, message },
    });
  }
}
