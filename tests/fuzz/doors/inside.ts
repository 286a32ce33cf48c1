import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Loaded into each process of the platform before its own code (NODE_OPTIONS=--import). At SIGUSR2 it collects
 * garbage and writes what the process holds, and the longest time its event loop stood still since the last one.
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const delay = monitorEventLoopDelay({ resolution: 20 });
delay.enable();
const folder = process.env['FUZZ_HELD'] ?? '';

process.on('SIGUSR2', () => {
  const stoodStillMs = Math.round(delay.max / 1e6);
  for (let i = 0; i < 3; i += 1) collect();
  delay.reset();
  const { heapUsed, external, rss } = process.memoryUsage();
  const file = join(folder, `${process.pid}.json`);
  writeFileSync(`${file}.tmp`, JSON.stringify({ heap: heapUsed + external, resident: rss, stoodStillMs }));
  renameSync(`${file}.tmp`, file);
});
