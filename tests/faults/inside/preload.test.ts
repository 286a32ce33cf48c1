import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
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

/** Runs a module's text with the preload and parses its output lines as JSON. */
function runWith(inside: Inside, text: string): unknown[] {
  const lines: unknown[] = [];
  child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', text],
    {
      env: { ...process.env, ...insideOf(inside) },
      stdio: ['pipe', 'pipe', 'inherit'],
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
  it('shifts the wall clock by the offset in the file, forward and back, but not the monotonic clock', async () => {
    const clockFile = join(folder, 'clock');
    const set = (ms: number) => {
      writeFileSync(`${clockFile}.new`, String(ms));
      renameSync(`${clockFile}.new`, clockFile);
    };
    const lines = runWith(
      { clockFile },
      `process.stdin.on('data', () => console.log(JSON.stringify([
        Date.now(), new Date().getTime(), new (new Date().constructor)().getTime(), Date.parse(Date()),
        new Date(5).getTime(), new Date(new Date(7)) instanceof Date, performance.now(),
      ])))`,
    ) as [number, number, number, number, number, boolean, number][];
    const hour = 3_600_000;
    /** Waits until the wall clock of the process has this offset. Returns its monotonic clock. */
    const shiftedBy = (ms: number) =>
      waitFor(`the time to be off by ${ms} ms`, async () => {
        const asked = lines.length + 1;
        const fromMs = Date.now();
        child?.stdin?.write('\n');
        await waitFor('the clocks', () => lines.length === asked);
        const [now, made, again, text, given, isDate, monotonic] = lines.at(-1) ?? [0, 0, 0, 0, 0, false, 0];
        expect([given, isDate]).toEqual([5, true]);
        const untilMs = Date.now();
        const isWithin = (t: number, from: number) => t >= from + ms && t <= untilMs + ms;
        // The text form has whole seconds.
        const all = [now, made, again].every((t) => isWithin(t, fromMs)) && isWithin(text, fromMs - 1000);
        return all && monotonic;
      });
    await shiftedBy(0);
    set(hour);
    const before = await shiftedBy(hour);
    set(-hour);
    expect(await shiftedBy(-hour)).toBeGreaterThan(before);
    rmSync(clockFile);
    await shiftedBy(0);
  });

  it.each([
    ['node:http', `(url) => new Promise((ok) => get(url, (r) => r.on('data', (d) => ok(String(d)))))`],
    ['fetch', `async (url) => (await fetch(url)).text()`],
  ])('connects %s to the relay instead of the address', async (_, ask) => {
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
