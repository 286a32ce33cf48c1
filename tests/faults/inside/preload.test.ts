import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { type Inside, insideOf } from './environment.ts';

let folder: string;
let child: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'preload-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a module's text with the preload; its output lines are parsed as JSON. */
function runWith(inside: Inside, text: string): unknown[] {
  const lines: unknown[] = [];
  child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', text],
    {
      env: { ...process.env, ...insideOf(inside) },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let rest = '';
  child.stdout?.on('data', (bytes: Buffer) => {
    const parts = (rest + bytes.toString()).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) lines.push(JSON.parse(line));
  });
  return lines;
}

describe('the preload of the processes of a crash test', () => {
  it('shifts the wall clock by the offset in the file, forward and back, and not the monotonic clock', async () => {
    const clockFile = join(folder, 'clock');
    const set = (ms: number) => {
      writeFileSync(`${clockFile}.new`, String(ms));
      renameSync(`${clockFile}.new`, clockFile);
    };
    const lines = runWith(
      { clockFile },
      `setInterval(() => console.log(JSON.stringify([
        Date.now(), new Date().getTime(), new Date(5).getTime(), performance.now(),
        new Date(new Date(7)) instanceof Date, new (new Date().constructor)().getTime(), Date.parse(Date()),
      ])), 10)`,
    ) as number[][];
    const hour = 3_600_000;
    const isShifted = (by: number) => {
      const [now = 0, made = 0, given, , isDate, again = 0, text = 0] = lines.at(-1) ?? [];
      if (given !== 5 || (isDate as unknown) !== true) return false;
      return [now, made, again, text].every((t) => Math.abs(t - Date.now() - by) < 600_000);
    };
    await waitFor('the right time', () => lines.length > 0 && isShifted(0));
    const [first = []] = lines;
    set(hour);
    await waitFor('an hour more', () => isShifted(hour));
    set(-hour);
    await waitFor('an hour less', () => isShifted(-hour));
    expect((lines.at(-1)?.[3] ?? 0) - (first[3] ?? 0)).toBeLessThan(600_000);
    rmSync(clockFile);
    await waitFor('the right time again', () => isShifted(0));
  });

  it.each([
    ['node:http', `(url) => new Promise((ok) => get(url, (r) => r.on('data', (d) => ok(String(d)))))`],
    ['fetch', `async (url) => (await fetch(url)).text()`],
  ])('connects %s to the relay of an address', async (_, ask) => {
    const server = createServer((request, response) => response.end(request.headers.host));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const lines = runWith(
      { routes: { '127.0.0.1:15001': `127.0.0.1:${port}` } },
      `import { get } from 'node:http';
       const ask = ${ask};
       console.log(JSON.stringify([await ask('http://127.0.0.1:15001/'), await ask('http://127.0.0.1:${port}/')]));
       process.exit(0);`,
    );
    try {
      await waitFor('the answers', () => lines.length > 0);
      expect(lines[0]).toEqual(['127.0.0.1:15001', `127.0.0.1:${port}`]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
