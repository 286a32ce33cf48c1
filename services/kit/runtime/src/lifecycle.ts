import { systemTime, type Time, type Timer } from './clock.ts';
import type { Logger } from './logger.ts';

/** An unavailable external dependency of a process that stays ready, because other work continues without it. */
export interface Warning {
  /** Identifier of the problem, for example `storage_unavailable`. */
  readonly name: string;
  /** Description for operators: the problem, its location and its cause. */
  readonly message: string;
}

/** Something that runs: started once, stopped once. */
export interface Component {
  readonly name: string;
  start(): Promise<void>;
  /**
   * Stops the component; resolves when it has released everything. `forMs`: time limit after which the component aborts
   * unfinished work; milliseconds. Default: the component's own limit.
   */
  stop(forMs?: number): Promise<void>;
  /** Undefined when ready; otherwise the reason it is not, for /readyz. Never calls other services. */
  notReady?(): string | undefined;
  /**
   * Warnings for `ctl status`. They do not affect readiness, because the dependency is unavailable for every instance.
   */
  warnings?(): readonly Warning[];
  /** Called before the process stops. Makes callers switch to other instances, and continues to serve. */
  beginDrain?(): void;
}

/** Part of its stop time that a component gets as its limit. The rest is for aborting unfinished work. */
const limitShare = 0.9;

/**
 * Returns the stop time of the next component, where `count` components share `leftMs`. Each component has a minimum,
 * which the components before it cannot use up. The next component also gets half of the time beyond all minimums.
 */
function stopTimeMs(leftMs: number, count: number, graceMs: number, total: number): number {
  const minimumMs = Math.min(graceMs / (4 * total), leftMs / count);
  return minimumMs + (leftMs - minimumMs * count) / (count > 1 ? 2 : 1);
}

/**
 * Starts components in order and stops them in reverse order, within one deadline. A stop has these steps: report not
 * ready for a time, stop accepting, finish calls, stop consumers, close stores, stop telemetry (ADR 0021).
 */
export class Lifecycle {
  readonly #logger: Logger;
  readonly #stopGraceMs: number;
  readonly #stopDelayMs: number;
  readonly #waitsFor: () => string | undefined;
  readonly #time: Time;
  readonly #running: Component[] = [];
  #stopping: Promise<void> | undefined;
  #complete = false;

  /**
   * `stopDelayMs`: time in which all components continue to serve, not ready, before they stop. `stopGraceMs`: time
   * limit for stopping all components after that. `waitsFor`: returns what an unfinished start waits for.
   */
  constructor(
    logger: Logger,
    options: { stopGraceMs?: number; stopDelayMs?: number; waitsFor?: () => string | undefined } = {},
    time: Time = systemTime,
  ) {
    this.#logger = logger;
    this.#time = time;
    this.#stopGraceMs = options.stopGraceMs ?? 10_000;
    this.#stopDelayMs = options.stopDelayMs ?? 0;
    this.#waitsFor = options.waitsFor ?? (() => undefined);
  }

  /**
   * Starts one component. If the start fails, stops all components that were started before, and throws the error.
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

  /** Called when all components have been started. From now on, the process may report ready. */
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

  /** Unavailable dependencies of all components. */
  warnings(): Warning[] {
    return this.#running.flatMap((c) => c.warnings?.() ?? []);
  }

  /** Stops everything in reverse order. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const component of this.#running) component.beginDrain?.();
    if (this.#complete && this.#stopDelayMs > 0) await this.#time.sleep(this.#stopDelayMs);
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
        if ((await Promise.race([component.stop(forMs * limitShare), late])) === 'late') {
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
