import { setTimeout as delay } from 'node:timers/promises';
import type { ManagedProcess } from '@headset-cloud/demo/stack/process.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { Termination } from './evidence.ts';

/** An unexpected end of a process. */
export interface Death {
  readonly process: string;
  /** Signal or exit code. */
  readonly how: string;
  readonly atMs: number;
}

/** A process that has not exited this long after SIGTERM is killed; milliseconds. */
const terminationMs = 40_000;

/** Wait before the next start of a program that failed to start; milliseconds. */
const againMs = 200;

/** Restarts each process at once when it dies, like a process manager, and counts deaths. */
export class Supervisor {
  readonly deaths: Death[] = [];
  readonly terminations: Termination[] = [];
  readonly #processes: ReadonlyMap<string, ManagedProcess>;
  /** Additional environments of a process's next starts, in order. Later starts get none. */
  readonly #next = new Map<string, Record<string, string>[]>();
  /** Processes that got SIGTERM and have not ended yet, with the time of the signal. */
  readonly #terminating = new Map<string, number>();
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

  /** Adds one environment to each of the next starts. */
  prepare(name: string, environments: Record<string, string>[]): void {
    this.#next.set(name, [...(this.#next.get(name) ?? []), ...environments]);
  }

  /** Removes the additions for the next starts. */
  forget(name: string): void {
    this.#next.delete(name);
  }

  /** Sends SIGKILL and resolves when the process has been restarted. */
  async kill(name: string): Promise<void> {
    const before = this.deathsOf(name);
    this.process(name).signal('SIGKILL');
    await this.died(name, before + 1);
  }

  /** Sends SIGTERM and resolves when the process has exited and has been restarted. */
  async terminate(name: string): Promise<void> {
    const before = this.terminations.length;
    this.#terminating.set(name, Date.now());
    this.process(name).signal('SIGTERM');
    const late = setTimeout(() => this.process(name).signal('SIGKILL'), terminationMs);
    const gone = () => this.terminations.slice(before).some((t) => t.process === name);
    await waitFor(`${name} to exit`, () => gone() && this.process(name).running, {
      timeoutMs: terminationMs + 10_000,
      intervalMs: 5,
    }).finally(() => clearTimeout(late));
  }

  /** Resolves when a process has died `times` times and has been restarted. Throws after `timeoutMs`. */
  async died(name: string, times: number, timeoutMs = 10_000): Promise<void> {
    await waitFor(`the death of ${name}`, () => this.deathsOf(name) >= times && this.process(name).running, {
      timeoutMs,
      intervalMs: 5,
    });
  }

  /** Stops restarting processes. */
  stop(): void {
    this.#stopped = true;
  }

  async #watch(process: ManagedProcess): Promise<void> {
    for (;;) {
      const how = await process.exited;
      if (this.#stopped) return;
      const signaledMs = this.#terminating.get(process.name);
      this.#terminating.delete(process.name);
      if (signaledMs !== undefined) {
        const atMs = Date.now();
        this.terminations.push({ process: process.name, how, atMs, tookMs: atMs - signaledMs });
      } else {
        this.deaths.push({ process: process.name, how, atMs: Date.now() });
        if (how !== 'SIGKILL') await delay(againMs);
      }
      if (this.#stopped) return;
      process.start(this.#next.get(process.name)?.shift());
    }
  }
}
