import { systemTime, type Time, type Timer } from './clock.ts';
import type { Logger } from './logger.ts';

/** An unavailable external dependency of a process that is ready: everything that works without it continues. */
export interface Warning {
  /** The problem, for programs: `storage_unavailable`. */
  readonly name: string;
  /** The problem, its location and its cause; for operators. */
  readonly message: string;
}

/** Something that runs: started once, stopped once. */
export interface Component {
  readonly name: string;
  start(): Promise<void>;
  /**
   * Stops the component; resolves when it has released everything. `forMs`: time limit, milliseconds; the component
   * aborts unfinished work then. Without it the component uses its own limit.
   */
  stop(forMs?: number): Promise<void>;
  /** Undefined when ready; otherwise the reason it is not, for /readyz. Never calls other services. */
  notReady?(): string | undefined;
  /** For `ctl status`. Does not affect readiness: the dependency is unavailable for every instance. */
  warnings?(): readonly Warning[];
  /** Called before the process stops: asks callers to use another instance, and continues to serve. */
  beginDrain?(): void;
}

/** Share of its stop time that a component receives as its limit; the rest is for aborting unfinished work. */
const limitShare = 0.9;

/**
 * Stop time of the first of `count` components that share `leftMs`: a share that no other component can use up, and
 * half of the time beyond all shares.
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
  readonly #stopDelayMs: number;
  readonly #waitsFor: () => string | undefined;
  readonly #time: Time;
  readonly #running: Component[] = [];
  #stopping: Promise<void> | undefined;
  #complete = false;

  /**
   * `stopDelayMs`: how long all components continue serving, not ready, before they stop. `stopGraceMs`: how long
   * all of them together may then take to stop. `waitsFor`: what an unfinished start waits for.
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
