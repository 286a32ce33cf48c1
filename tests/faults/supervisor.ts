import { setTimeout as delay } from 'node:timers/promises';
import type { ManagedProcess } from '@headset-cloud/demo/stack/process.ts';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import type { Termination } from './evidence.ts';

/** A process that ended while it was to run. */
export interface Death {
  readonly process: string;
  /** Signal or exit code. */
  readonly how: string;
  readonly atMs: number;
}

/** Who has not gone so long after SIGTERM is killed. */
const terminationMs = 40_000;

/** A program that cannot start is tried again after this long. */
const againMs = 200;

/** Starts again at once whatever dies, as a process manager does, and counts the deaths. */
export class Supervisor {
  readonly deaths: Death[] = [];
  readonly terminations: Termination[] = [];
  readonly #processes: ReadonlyMap<string, ManagedProcess>;
  /** Environments of the next starts of a process, in order; none left: nothing is added. */
  readonly #next = new Map<string, Record<string, string>[]>();
  /** Processes whose next end is asked for by SIGTERM, with when that was. */
  readonly #told = new Map<string, number>();
  #stopped = false;

  constructor(processes: readonly ManagedProcess[]) {
    this.#processes = new Map(processes.map((p) => [p.name, p]));
    for (const process of processes) void this.#watch(process);
  }

  process(name: string): ManagedProcess {
    const found = this.#processes.get(name);
    if (!found) throw new Error(`no process is named ${name}`);
    return found;
  }

  deathsOf(name: string): number {
    return this.deaths.filter((d) => d.process === name).length;
  }

  /** Adds environments to the next starts, one each. */
  prepare(name: string, environments: Record<string, string>[]): void {
    this.#next.set(name, [...(this.#next.get(name) ?? []), ...environments]);
  }

  /** The next starts are plain ones. */
  forget(name: string): void {
    this.#next.delete(name);
  }

  /** kill -9; resolves when it is dead and has been started again. */
  async kill(name: string): Promise<void> {
    const before = this.deathsOf(name);
    this.process(name).signal('SIGKILL');
    await this.died(name, before + 1);
  }

  /** SIGTERM; resolves when it has gone and has been started again. */
  async terminate(name: string): Promise<void> {
    const before = this.terminations.length;
    this.#told.set(name, Date.now());
    this.process(name).signal('SIGTERM');
    const late = setTimeout(() => this.process(name).signal('SIGKILL'), terminationMs);
    const gone = () => this.terminations.slice(before).some((t) => t.process === name);
    await waitFor(`${name} to go`, () => gone() && this.process(name).running, {
      timeoutMs: terminationMs + 10_000,
      intervalMs: 5,
    }).finally(() => clearTimeout(late));
  }

  /** Resolves when a process has died so often and has been started again; throws after `timeoutMs`. */
  async died(name: string, times: number, timeoutMs = 10_000): Promise<void> {
    await waitFor(`the death of ${name}`, () => this.deathsOf(name) >= times && this.process(name).running, {
      timeoutMs,
      intervalMs: 5,
    });
  }

  /** From now on a death is final. */
  stop(): void {
    this.#stopped = true;
  }

  async #watch(process: ManagedProcess): Promise<void> {
    for (;;) {
      const how = await process.exited;
      if (this.#stopped) return;
      const toldMs = this.#told.get(process.name);
      this.#told.delete(process.name);
      if (toldMs !== undefined) {
        const atMs = Date.now();
        this.terminations.push({ process: process.name, how, atMs, tookMs: atMs - toldMs });
      } else {
        this.deaths.push({ process: process.name, how, atMs: Date.now() });
        if (how !== 'SIGKILL') await delay(againMs);
      }
      if (this.#stopped) return;
      process.start(this.#next.get(process.name)?.shift());
    }
  }
}
