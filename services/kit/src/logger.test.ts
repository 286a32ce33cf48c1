import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { createLogger } from './logger.ts';
import { waitFor } from './testing/wait.ts';

it('lines that nobody reads are dropped beyond a bound, and counted; then logging goes on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'logger-'));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = openSync(pipe, constants.O_WRONLY);
  const metrics = new Registry();
  const dropped = async () =>
    (await metrics.getSingleMetric('headset_log_lines_dropped_total')?.get())?.values[0]?.value ?? 0;
  const buffer = Buffer.alloc(1 << 20);
  let last = '';
  const read = () => {
    try {
      last = (last + buffer.toString('utf8', 0, readSync(reader, buffer))).slice(-1000);
    } catch {
      // Nothing is there for the moment.
    }
    return last;
  };
  const logger = createLogger({ level: 'info', destination: fd, metrics });
  try {
    const text = 'x'.repeat(100_000);
    for (let i = 0; i < 100; i += 1) logger.info({ i }, text);
    expect(await dropped()).toBeGreaterThan(10);
    expect(await dropped()).toBeLessThan(30);
  } finally {
    // Somebody reads again. A line may still find no room.
    await waitFor('the lines to be read', () => {
      logger.info('after it');
      return read().includes('after it');
    });
    logger.info('the end');
    await waitFor('the last line', () => read().includes('the end'));
    closeSync(fd);
    closeSync(reader);
    rmSync(folder, { recursive: true });
  }
});
