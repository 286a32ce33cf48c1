import { spawn } from 'node:child_process';
import { once } from 'node:events';

const entry = new URL('./main.ts', import.meta.url).pathname;

/** The first line that a process prints, as prepare does at its start; its stores never answer. */
async function firstLine(env: Record<string, string>): Promise<Record<string, unknown>> {
  const stores = { MONGODB_URI: 'mongodb://127.0.0.1:1', KAFKA_BROKERS: '127.0.0.1:1' };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', entry], {
    env: { PATH: process.env['PATH'], ...stores, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  try {
    let text = '';
    for await (const chunk of child.stdout) {
      text += chunk;
      if (text.includes('\n')) return JSON.parse(text.slice(0, text.indexOf('\n')));
    }
    throw new Error('nothing was printed');
  } finally {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

test('a process in production logs a warning if topics have a single replica, and continues', async () => {
  expect(await firstLine({ NODE_ENV: 'production', KAFKA_REPLICATION_FACTOR: '1' })).toMatchObject({
    ...{ level: 'warn', service: 'prepare', setting: 'KAFKA_REPLICATION_FACTOR' },
    message: expect.stringContaining('KAFKA_REPLICATION_FACTOR is 1'),
  });
});
