import type { Stack } from '@headset-cloud/demo/stack/stack.ts';
import { bytesWritten, processFigures } from './process-figures.ts';

/** Processor time of the platform's processes over some runs, and the amount of work done. */
export interface Spending {
  /** Runs `work`, which returns how many things it did, and adds the processor time of the processes. */
  during<T>(work: () => Promise<T>, done: (result: T) => number): Promise<T>;
  /** Processor time per thing of each call of `during`, of all processes together; milliseconds. */
  readonly each: readonly number[];
  /** The processor time per thing: of all processes together, then of each; and what they had written to disk. */
  inWords(): string;
}

/** Watches a stack's processes, MongoDB and Kafka, but not the stand-in of the identity provider. */
export function spendingOf(stack: Stack): Spending {
  const spentSeconds: Record<string, number> = {};
  const each: number[] = [];
  let count = 0;
  let bytes = 0;
  return {
    each,
    async during(work, done) {
      const before = processorTime(stack);
      const writtenBefore = written(stack);
      const result = await work();
      bytes += written(stack) - writtenBefore;
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
      const kib = bytes / 1024 / count;
      return `${sum.toFixed(2)} ms (${parts.join(', ')}); ${kib.toFixed(1)} KiB written to disk`;
    },
  };
}

function processesOf({ processes, backing }: Stack): [string, { readonly pid: number }][] {
  const { issuer: _issuer, ...own } = processes;
  const all = Object.entries({ ...own, MongoDB: backing?.mongo, Kafka: backing?.kafka });
  return all.flatMap(([name, part]) => (part ? [[name, part]] : []));
}

/** Processor time since the processes' start; seconds. */
function processorTime(stack: Stack): Record<string, number> {
  return Object.fromEntries(
    processesOf(stack).map(([name, { pid }]) => [name, processFigures(pid).cpuSeconds]),
  );
}

function written(stack: Stack): number {
  return processesOf(stack).reduce((sum, [, { pid }]) => sum + (bytesWritten(pid) ?? 0), 0);
}
