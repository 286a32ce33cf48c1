import type { Stack } from '@headset-cloud/demo/stack/stack.ts';
import { processFigures } from './process-figures.ts';

/** Processor time of the platform's processes over some runs, and the amount of work done. */
export interface Spending {
  /** Runs `work`, which returns how many things it did, and adds the processor time of the processes. */
  during<T>(work: () => Promise<T>, done: (result: T) => number): Promise<T>;
  /** Processor time per thing of each call of `during`, of all processes together; milliseconds. */
  readonly each: readonly number[];
  /** The processor time per thing: of all processes together, then of each. */
  inWords(): string;
}

/** Watches a stack's processes, MongoDB and Kafka, but not the stand-in of the identity provider. */
export function spendingOf(stack: Stack): Spending {
  const spentSeconds: Record<string, number> = {};
  const each: number[] = [];
  let count = 0;
  return {
    each,
    async during(work, done) {
      const before = processorTime(stack);
      const result = await work();
      let sum = 0;
      for (const [name, after] of Object.entries(processorTime(stack))) {
        const spent = after - (before[name] ?? 0);
        spentSeconds[name] = (spentSeconds[name] ?? 0) + spent;
        sum += spent;
      }
      count += done(result);
      each.push((1000 * sum) / done(result));
      return result;
    },
    inWords() {
      const processes = Object.entries(spentSeconds).map(([name, s]) => ({ name, ms: (1000 * s) / count }));
      const sum = processes.reduce((total, { ms }) => total + ms, 0);
      const parts = processes.sort((a, b) => b.ms - a.ms).map(({ name, ms }) => `${name} ${ms.toFixed(2)}`);
      return `${sum.toFixed(2)} ms (${parts.join(', ')})`;
    },
  };
}

/** Processor time since the processes' start; seconds. */
function processorTime({ processes, backing }: Stack): Record<string, number> {
  const { issuer: _issuer, ...own } = processes;
  const all = { ...own, MongoDB: backing?.mongo, Kafka: backing?.kafka };
  const times: Record<string, number> = {};
  for (const [name, part] of Object.entries(all)) {
    if (part) times[name] = processFigures(part.pid).cpuSeconds;
  }
  return times;
}
