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
const eventLoopDelay = monitorEventLoopDelay({ resolution: 20 });
eventLoopDelay.enable();
const folder = process.env['FUZZ_HELD'] ?? '';
const pollMs = 1000;
/**
 * The wait ends after this time without a considerable release of memory, and after five times this time;
 * milliseconds.
 */
const quietMs = Number(process.env['FUZZ_QUIET_MS'] || 2000);
const muchBytes = 4 * 1024 ** 2;

process.on('SIGUSR2', () => void write(Math.round(eventLoopDelay.max / 1e6)));

/**
 * Waits until V8 has released memory. V8 keeps collected pages in a pool and releases them up to 20 s later
 * (--memory-pool-timeout). This can be hundreds of MiB.
 */
async function settledMemory(): Promise<NodeJS.MemoryUsage> {
  let least = Number.POSITIVE_INFINITY;
  const startedMs = performance.now();
  let lastReleaseMs = startedMs;
  while (performance.now() - lastReleaseMs < quietMs && performance.now() - startedMs < 5 * quietMs) {
    collect();
    await delay(pollMs);
    const { rss } = process.memoryUsage();
    if (rss < least - muchBytes) lastReleaseMs = performance.now();
    least = Math.min(least, rss);
  }
  return process.memoryUsage();
}

async function write(blockedMs: number): Promise<void> {
  const { heapUsed, external, rss } = await settledMemory();
  eventLoopDelay.reset();
  const file = join(folder, `${process.pid}.json`);
  writeFileSync(`${file}.tmp`, JSON.stringify({ heap: heapUsed + external, resident: rss, blockedMs }));
  renameSync(`${file}.tmp`, file);
}
