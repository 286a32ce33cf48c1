import { spawnSync } from 'node:child_process';

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
