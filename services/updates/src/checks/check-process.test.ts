import { type ChildProcess, execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeApk } from '@headset-cloud/demo/apk.ts';
import { largeDirectory, longCheck } from '../testing/hostile-packages.ts';
import { argumentsOf, checkInProcess } from './check-process.ts';

const claimed = { package: 'com.example.app', version: '1.0.0' };
const declared = { kind: 'software', ...claimed } as const;
const mebi = 1024 ** 2;
let folder: string;
let path: string;
let large: Buffer;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'check-process-'));
  path = join(folder, 'a.apk');
  large = largeDirectory(claimed);
});
afterAll(() => rmSync(folder, { recursive: true }));

function check(content: Buffer, options: { timeoutMs?: number; signal?: AbortSignal; heapMb?: number } = {}) {
  writeFileSync(path, content);
  return checkInProcess(path, declared, {
    timeoutMs: 150_000,
    signal: new AbortController().signal,
    ...options,
  });
}

// protects against files/check-escape
test('a check may neither write, nor read other files, start programs or connect', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const probe = fileURLToPath(new URL('../testing/rights-main.ts', import.meta.url));
  const written = join(folder, 'written');
  const args = [...argumentsOf(probe), written, String((server.address() as AddressInfo).port)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {} });
  server.close();
  expect(JSON.parse(stdout)).toEqual({
    ...{ write: 'ERR_ACCESS_DENIED', read: 'ERR_ACCESS_DENIED' },
    ...{ start: 'ERR_ACCESS_DENIED', connect: 'ERR_ACCESS_DENIED' },
  });
  expect(existsSync(written)).toBe(false);
});

test.each<[string, () => Buffer]>([
  ['that unpacks to 256 MiB', () => longCheck(claimed, 256)],
  ['whose directory is as large as it may be', () => large],
])(
  'a package %s is checked in less than 160 MiB of memory',
  async (_, make) => {
    const { verdict, peakBytes } = await check(make());
    expect(verdict).toEqual({ sha256: expect.any(String) });
    // Only Linux reports it.
    if (process.platform === 'linux') expect(peakBytes).toBeGreaterThan(20 * mebi);
    expect(peakBytes).toBeLessThan(160 * mebi);
  },
  160_000,
);

// protects against files/check-exhaustion
test('a check that takes longer than it may is killed, and the file is rejected', async () => {
  const { verdict } = await check(longCheck(claimed, 3072, false), { timeoutMs: 500 });
  expect(verdict).toEqual({
    rejection: { rule: 'bounds', reason: 'Its check takes longer than 0.5 s.' },
  });
});

// protects against files/check-exhaustion
test('a file whose check takes too much memory is rejected, and this process continues', async () => {
  const { verdict } = await check(large, { heapMb: 12 });
  expect(verdict).toEqual({
    rejection: { rule: 'bounds', reason: 'Its check takes more memory than is allowed.' },
  });
});

test('an aborted check ends at once, and the file is not rejected', async () => {
  const stop = new AbortController();
  const stopping = new Error('stopping');
  const begun = Promise.withResolvers<ChildProcess>();
  const watch = (message: unknown) => {
    const { process } = message as { process: ChildProcess };
    process.once('message', () => begun.resolve(process));
  };
  subscribe('child_process', watch);
  // Without the abort, it takes ten seconds.
  const outcome = check(longCheck(claimed, 3072), { signal: stop.signal }).catch((error: Error) => error);
  const process = await begun.promise;
  unsubscribe('child_process', watch);
  stop.abort(stopping);
  expect(await outcome).toBe(stopping);
  expect(process.signalCode).toBe('SIGKILL');
  const late = check(await makeApk(), { signal: AbortSignal.abort(stopping) });
  await expect(late).rejects.toBe(stopping);
});

test('a file that cannot be read is not rejected', async () => {
  const limit = { timeoutMs: 150_000, signal: new AbortController().signal };
  await expect(checkInProcess(join(folder, 'none'), declared, limit)).rejects.toThrow('ENOENT');
  await expect(checkInProcess(folder, declared, limit)).rejects.toThrow('EISDIR');
});
