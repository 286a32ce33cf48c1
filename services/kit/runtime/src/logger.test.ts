import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { createLogger } from './logger.ts';
import { waitFor } from './testing/wait.ts';

it('unread lines are dropped beyond a limit, and counted; later lines are logged again', async () => {
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
      // No more lines at the moment.
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
    // The reader continues. A line may still be dropped.
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

// Only Linux has a file that is always full.
const itOnFullDisk = existsSync('/dev/full') ? it : it.skip;

itOnFullDisk(
  'lines wait while the disk is full, and are written in their order when space is free',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'logger-'));
    const file = join(folder, 'log');
    const fd = openSync('/dev/full', 'w');
    const logger = createLogger({ level: 'info', destination: fd });
    try {
      for (const line of ['first', 'second', 'third']) {
        logger.info(line);
        // Resolves when the attempt to write the line has failed.
        await new Promise<unknown>((done) => logger.flush(done));
      }
      closeSync(fd);
      // A new file gets the lowest number that is free: soon the logger's own.
      const others: number[] = [];
      for (let opened = openSync(file, 'a'); opened !== fd; opened = openSync(file, 'a')) {
        expect(opened).toBeLessThan(fd);
        others.push(opened);
      }
      for (const other of others) closeSync(other);
      logger.info('fourth');
      await waitFor('the last line', () => readFileSync(file, 'utf8').includes('fourth'));
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line).message)).toEqual(['first', 'second', 'third', 'fourth']);
    } finally {
      closeSync(fd);
      rmSync(folder, { recursive: true });
    }
  },
);

/** Runs a script that has `log`, and returns the messages of its lines. */
function messagesOf(script: string): { messages: string[]; status: number | null } {
  const folder = mkdtempSync(join(tmpdir(), 'logger-'));
  const file = join(folder, 'log');
  const out = openSync(file, 'w');
  try {
    const logger = new URL('./logger.ts', import.meta.url).href;
    const { status } = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { createLogger } from ${JSON.stringify(logger)};
         const log = createLogger({ level: 'info' });
         ${script}`,
      ],
      { stdio: ['ignore', out, 'inherit'], timeout: 50_000 },
    );
    const messages = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return { messages: messages.map((line) => JSON.parse(line).message), status };
  } finally {
    closeSync(out);
    rmSync(folder, { recursive: true });
  }
}

const manyLines = 'for (let i = 0; i < 100; i++) log.info(String(i));';
const many = Array.from({ length: 100 }, (_, i) => String(i));

it.each([
  ['because it is done', '', 0],
  ['at once', 'process.exit(3);', 3],
  ['by a fatal line', 'log.fatal("the end"); process.exit(1);', 1],
])('a process that ends %s leaves no line unwritten, in their order', (_, end, status) => {
  const fatal = end.includes('fatal') ? ['the end'] : [];
  expect(messagesOf(`${manyLines} ${end}`)).toEqual({ messages: [...many, ...fatal], status });
});

it('a line is written after a short time, also without later lines', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'logger-'));
  const file = join(folder, 'log');
  const fd = openSync(file, 'w');
  try {
    createLogger({ level: 'info', destination: fd }).info('alone');
    await waitFor('the line', () => readFileSync(file, 'utf8').includes('alone'), { intervalMs: 5 });
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
});
