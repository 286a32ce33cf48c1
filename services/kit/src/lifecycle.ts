import { systemTime, type Time, type Timer } from './clock.ts';
import type { Logger } from './logger.ts';

/** Something outside that a process cannot use, though it is ready: what works without it continues. */
export interface Warning {
  /** What is wrong, for programs: `storage_unavailable`. */
  readonly name: string;
  /** What and where, and why; for operators. */
  readonly message: string;
}

/** Something that runs: started once, stopped once. */
export interface Component {
  readonly name: string;
  start(): Promise<void>;
  /**
   * Resolves when nothing of it is left. `forMs`: how long it may take at most, milliseconds; what is not
   * finished by then has to be cut off. Without it the component has a limit of its own.
   */
  stop(forMs?: number): Promise<void>;
  /** Undefined when ready; otherwise the reason it is not, for /readyz. Never calls other services. */
  notReady?(): string | undefined;
  /** For `ctl status`. Readiness is not touched: every instance would be taken out at once. */
  warnings?(): readonly Warning[];
  /** Called before the process stops: tells callers to use another instance, and continues serving. */
  turnAway?(): void;
}

/** Share of its time that a component is told of; the rest is for cutting off what is left. */
const toldShare = 0.9;

/**
 * How long the first of `count` components may take to stop when all have `leftMs`: a share that none of the
 * others can use up, and half of what is beyond the shares of all.
 */
function stopTimeMs(leftMs: number, count: number, graceMs: number, total: number): number {
  const ownMs = Math.min(graceMs / (4 * total), leftMs / count);
  return ownMs + (leftMs - ownMs * count) / (count > 1 ? 2 : 1);
}

/**
 * Starts components in order and stops them in reverse, all within one deadline: not ready, for a time →
 * stop accepting → drain → consumers → stores → telemetry (ADR 0021).
 */
export class Lifecycle {
  readonly #logger: Logger;
  readonly #stopGraceMs: number;
  readonly #turnAwayMs: number;
  readonly #waitsFor: () => string | undefined;
  readonly #time: Time;
  readonly #running: Component[] = [];
  #stopping: Promise<void> | undefined;
  #complete = false;

  /**
   * `turnAwayMs`: how long all components continue serving, not ready, before they stop. `stopGraceMs`: how long
   * all of them together may then take to stop. `waitsFor`: what an unfinished start waits for.
   */
  constructor(
    logger: Logger,
    options: { stopGraceMs?: number; turnAwayMs?: number; waitsFor?: () => string | undefined } = {},
    time: Time = systemTime,
  ) {
    this.#logger = logger;
    this.#time = time;
    this.#stopGraceMs = options.stopGraceMs ?? 10_000;
    this.#turnAwayMs = options.turnAwayMs ?? 0;
    this.#waitsFor = options.waitsFor ?? (() => undefined);
  }

  /**
   * Starts one component; when that fails, all components started before it are stopped and the error is
   * thrown.
   */
  async start(component: Component): Promise<void> {
    try {
      await component.start();
      this.#running.push(component);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Everything has been started: from now on the process may be ready. */
  complete(): void {
    this.#complete = true;
  }

  /** Reasons why the process is not ready; empty when it is. */
  notReady(): string[] {
    if (this.#stopping) return ['shutting down'];
    const reasons = this.#running.flatMap((c) => {
      const reason = c.notReady?.();
      return reason ? [`${c.name}: ${reason}`] : [];
    });
    if (this.#complete) return reasons;
    const waits = this.#waitsFor();
    return [waits ? `starting: ${waits}` : 'starting', ...reasons];
  }

  /** What the process continues without. */
  warnings(): Warning[] {
    return this.#running.flatMap((c) => c.warnings?.() ?? []);
  }

  /** Stops everything in reverse order. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const component of this.#running) component.turnAway?.();
    if (this.#complete && this.#turnAwayMs > 0) await this.#time.sleep(this.#turnAwayMs);
    const endsAtMs = this.#time.monotonicNow() + this.#stopGraceMs;
    const total = this.#running.length;
    for (const [index, component] of this.#running.reverse().entries()) {
      const leftMs = Math.max(0, endsAtMs - this.#time.monotonicNow());
      const forMs = stopTimeMs(leftMs, total - index, this.#stopGraceMs, total);
      let timer: Timer | undefined;
      const late = new Promise<'late'>((resolve) => {
        timer = this.#time.setTimeout(() => resolve('late'), forMs);
      });
      try {
        if ((await Promise.race([component.stop(forMs * toldShare), late])) === 'late') {
          this.#logger.error({ component: component.name, forMs }, 'did not stop in time');
        }
      } catch (error) {
        this.#logger.error({ component: component.name, err: error }, 'failed to stop');
      } finally {
        this.#time.clearTimer(timer);
      }
    }
  }
}

/** Resolves with the first SIGINT or SIGTERM. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(signal));
  });
}
