import type { Stack } from '@headset-cloud/demo/stack/stack.ts';
import { processFigures } from './process-figures.ts';

/** Processor time of the platform's processes over some runs, and the amount of work done. */
export interface Spending {
  /** Runs `work`, which returns how many things it did, and adds the processor time of the processes. */
  during<T>(work: () => Promise<T>, done: (result: T) => number): Promise<T>;
  /** The processor time per thing: of all processes together, then of each. */
  inWords(): string;
}

/** Watches a stack's processes, MongoDB and Kafka, but not the stand-in of the identity provider. */
export function spendingOf(stack: Stack): Spending {
  const spentSeconds: Record<string, number> = {};
  let count = 0;
  return {
    async during(work, done) {
      const before = processorTime(stack);
      const result = await work();
      for (const [name, after] of Object.entries(processorTime(stack))) {
        spentSeconds[name] = (spentSeconds[name] ?? 0) + after - (before[name] ?? 0);
      }
      count += done(result);
      return result;
    },
    inWords() {
      const each = Object.entries(spentSeconds).map(([name, s]) => ({ name, ms: (1000 * s) / count }));
      const sum = each.reduce((total, { ms }) => total + ms, 0);
      const parts = each.sort((a, b) => b.ms - a.ms).map(({ name, ms }) => `${name} ${ms.toFixed(2)}`);
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
