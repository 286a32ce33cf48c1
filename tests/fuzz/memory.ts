import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const mebi = 1024 ** 2;
const mostHeap = 16 * mebi;
const mostResident = 128 * mebi;

/** Tells whether this process holds more from `begin` on: heap, memory in all, open files. */
export function memoryWatch(): { begin(): void; growth(): string | undefined } {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const look = () => {
    collect();
    const { heapUsed, rss, external } = process.memoryUsage();
    return { heap: heapUsed + external, resident: rss, files: openFiles() };
  };
  let before = look();
  return {
    begin: () => {
      before = look();
    },
    growth: () => {
      const now = look();
      const [heap, resident] = [now.heap - before.heap, now.resident - before.resident];
      if (heap > mostHeap) return `the heap grew by ${Math.round(heap / mebi)} MiB`;
      if (resident > mostResident) return `memory grew by ${Math.round(resident / mebi)} MiB`;
      return now.files > before.files ? `${now.files - before.files} files stayed open` : undefined;
    },
  };
}

/** 0 where the system does not tell. */
function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
