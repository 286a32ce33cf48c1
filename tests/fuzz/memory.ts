import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const mebi = 1024 ** 2;
const mostHeap = 16 * mebi;
const mostResident = 128 * mebi;

/** Maximum number of repeated measurements, because other threads release memory later. */
const maxMeasurements = 20;
const pauseMs = 100;

/**
 * Measures growth of this process since `begin`: heap, total memory, open files. V8's other threads release buffers
 * some time after a collection, so an excess is measured again for 2 s.
 */
export function memoryWatch(): { begin(): void; growth(): Promise<string | undefined> } {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const measure = () => {
    collect();
    const { heapUsed, rss, external } = process.memoryUsage();
    return { heap: heapUsed + external, resident: rss, files: openFiles() };
  };
  let before = measure();
  const grown = (): string | undefined => {
    const now = measure();
    const [heap, resident] = [now.heap - before.heap, now.resident - before.resident];
    if (heap > mostHeap) return `the heap grew by ${Math.round(heap / mebi)} MiB`;
    if (resident > mostResident) return `memory grew by ${Math.round(resident / mebi)} MiB`;
    return now.files > before.files ? `${now.files - before.files} files stayed open` : undefined;
  };
  return {
    begin: () => {
      before = measure();
    },
    async growth() {
      let growth = grown();
      for (let attempts = 1; growth !== undefined && attempts < maxMeasurements; attempts += 1) {
        await delay(pauseMs);
        growth = grown();
      }
      return growth;
    },
  };
}

/** Returns the number of open files; 0 if the system does not report it. */
function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
