import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into each process of the platform before the product's code (NODE_OPTIONS=--import). At SIGUSR2, it collects
 * garbage, then writes the memory of the process and the longest block of its event loop since the last signal.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const stood = monitorEventLoopDelay({ resolution: 20 });
stood.enable();
const folder = process.env['FUZZ_HELD'] ?? '';
const lookMs = 1000;
/** The wait ends after this time without a considerable release of memory, and after five times this time; milliseconds. */
const quietMs = Number(process.env['FUZZ_QUIET_MS'] || 2000);
const muchBytes = 4 * 1024 ** 2;

process.on('SIGUSR2', () => void write(Math.round(stood.max / 1e6)));

/**
 * Waits until V8 has released memory. V8 keeps collected pages in a pool and releases them up to 20 s later
 * (--memory-pool-timeout). This can be hundreds of MiB.
 */
async function givenBack(): Promise<NodeJS.MemoryUsage> {
  let least = Number.POSITIVE_INFINITY;
  const startedMs = performance.now();
  let fellMs = startedMs;
  while (performance.now() - fellMs < quietMs && performance.now() - startedMs < 5 * quietMs) {
    collect();
    await delay(lookMs);
    const { rss } = process.memoryUsage();
    if (rss < least - muchBytes) fellMs = performance.now();
    least = Math.min(least, rss);
  }
  return process.memoryUsage();
}

async function write(stoodStillMs: number): Promise<void> {
  const { heapUsed, external, rss } = await givenBack();
  stood.reset();
  const file = join(folder, `${process.pid}.json`);
  writeFileSync(`${file}.tmp`, JSON.stringify({ heap: heapUsed + external, resident: rss, stoodStillMs }));
  renameSync(`${file}.tmp`, file);
}
