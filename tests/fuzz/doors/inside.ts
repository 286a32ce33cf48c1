import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into each process of the platform before its own code (NODE_OPTIONS=--import). At SIGUSR2 it collects
 * garbage and writes what the process holds, and the longest time its event loop stood still since the last one.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const stood = monitorEventLoopDelay({ resolution: 20 });
stood.enable();
const folder = process.env['FUZZ_HELD'] ?? '';
const lookMs = 500;
/** So many looks in a row at which not much more was given back end the wait; so many end it in any case. */
const quietLooks = 4;
const mostLooks = 40;
const muchBytes = 4 * 1024 ** 2;

process.on('SIGUSR2', () => void write(Math.round(stood.max / 1e6)));

/** V8 gives collected pages and buffers back to the system over some seconds: 290 of 810 MiB in one long run. */
async function givenBack(): Promise<NodeJS.MemoryUsage> {
  let least = Number.POSITIVE_INFINITY;
  let quiet = 0;
  for (let looks = 0; looks < mostLooks && quiet < quietLooks; looks += 1) {
    collect();
    await delay(lookMs);
    const { rss } = process.memoryUsage();
    quiet = rss < least - muchBytes ? 0 : quiet + 1;
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
