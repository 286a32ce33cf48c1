import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

it('a server is killed when the process that started it exits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mongo-'));
  // The replacement of the server connects here and waits. Its connection closes when it ends.
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const program = `#!${process.execPath}\nrequire('node:net').connect(${port}, '127.0.0.1');\n`;
  writeFileSync(join(folder, 'secantusd-rs'), program, { mode: 0o700 });
  const script = `
    import { startMongo } from ${JSON.stringify(join(import.meta.dirname, 'mongo.ts'))};
    process.stdin.on('end', () => process.exit(0)).resume();
    startMongo(${JSON.stringify(join(folder, 'data'))}).catch(() => {});
  `;
  const parent = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script],
    { env: { PATH: folder }, stdio: ['pipe', 'ignore', 'inherit'] },
  );
  try {
    const [connection] = (await once(listener, 'connection')) as [Socket];
    connection.resume();
    const exited = once(parent, 'exit');
    const closed = once(connection, 'close');
    parent.stdin.end();
    expect((await exited)[0]).toBe(0);
    await closed;
  } finally {
    parent.kill('SIGKILL');
    listener.close();
    rmSync(folder, { recursive: true });
  }
});
