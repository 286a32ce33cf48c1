import type { Behaviour } from './behaviour.ts';
import type { ReportBody } from './outbox.ts';

/** Share of the download in an update's progress; the rest is the installation. */
const loadingShare = 0.9;

/** Reports the progress of an update every `progressIntervalMs` until `stop` is called. */
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

  /** Sets the loaded share of the update, 0.0 to 1.0. Lower values than before are ignored. */
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
