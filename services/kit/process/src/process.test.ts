import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { it } from '@jest/globals';

const module = new URL('./process.ts', import.meta.url).href;

/** Runs `body` as a process of the platform until it ends. */
function ended(body: string): { status: number | null; lines: Record<string, unknown>[]; stderr: string } {
  const script = `import { main } from '${module}'; await main('devices', async () => { ${body} });`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { status, lines: lines.map((line) => JSON.parse(line)), stderr };
}

const unexpected = (message: string) => ({
  status: 1,
  lines: [
    expect.objectContaining({
      level: 'fatal',
      service: 'devices',
      message: 'the process ends because of an unexpected error',
      err: { type: 'TypeError', message, stack: expect.stringContaining(`TypeError: ${message}\n    at `) },
    }),
  ],
  stderr: '',
});

describe('an unexpected error ends a process with 1 and one log line', () => {
  test('thrown by the start', () => {
    expect(ended(`throw new TypeError('no such file')`)).toEqual(unexpected('no such file'));
  });

  test('thrown in a callback', () => {
    const body = `setImmediate(() => { throw new TypeError('lost') }); await new Promise(() => {});`;
    expect(ended(body)).toEqual(unexpected('lost'));
  });

  // protects against operators/passwords-logged
  test('without the passwords of the addresses that it names', () => {
    const error = `new TypeError('no answer of mongodb://user:hidden@one:1,two:2/?x=y or https://a/b@c')`;
    expect(ended(`throw Object.assign(${error}, { uri: 'mongodb://user:hidden@one' })`)).toEqual(
      unexpected('no answer of mongodb://[redacted]@one:1,two:2/?x=y or https://a/b@c'),
    );
  });
});

const itOnFullDisk = existsSync('/dev/full') ? it : it.skip;

itOnFullDisk.each([
  ['continues, and ends when it is done', 'await new Promise((done) => log.flush(done)); log.info("b");', 0],
  ['ends by a failure', 'log.info("b"); throw new Error("failed");', 1],
  [
    'ends by a second failure after the first',
    'for (const one of ["first", "second"]) setImmediate(() => { throw new Error(one); }); await new Promise(() => {});',
    1,
  ],
])('a process whose log is on a full disk %s', (_, then, status) => {
  const logger = import.meta.resolve('@headset-cloud/runtime/logger.ts');
  const script = `
    import { createLogger } from ${JSON.stringify(logger)};
    import { main } from ${JSON.stringify(module)};
    await main('a', async () => {
      const log = createLogger({ level: 'info' });
      log.info('a');
      ${then}
    });`;
  const log = openSync('/dev/full', 'w');
  const run = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', log, 'pipe'],
    timeout: 50_000,
  });
  closeSync(log);
  expect([run.status, run.signal, run.stderr.toString()]).toEqual([status, null, '']);
});
