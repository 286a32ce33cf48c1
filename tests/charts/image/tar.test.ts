import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normalised, readTar, readTarFile, type TarEntry, writeTar } from '../../../charts/image/tar.ts';

const long = `${'a-folder-with-a-long-name/'.repeat(8)}file-名前.ts`;
const entry = (path: string, more: Partial<TarEntry> = {}): TarEntry => ({
  ...{ path, type: 'file', mode: 0o644, data: Buffer.from(`of ${path}`), target: '' },
  ...more,
});

describe('tar archives', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-tar-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('are read as they were written, long paths and targets included', () => {
    const entries = [
      entry('usr', { type: 'directory', mode: 0o755, data: Buffer.alloc(0) }),
      entry(long),
      entry('link', { type: 'symlink', mode: 0o777, data: Buffer.alloc(0), target: `../${long}` }),
      entry('empty', { data: Buffer.alloc(0) }),
      entry('big', { data: Buffer.alloc(513, 7) }),
    ];
    expect(readTar(writeTar(entries))).toEqual(entries);
  });

  it.each(['gnu', 'pax', 'ustar'])(
    'of GNU tar (%s) can be read, and GNU tar reads the written archives',
    (format) => {
      const from = join(folder, format);
      const path = format === 'ustar' ? 'short/file' : long;
      mkdirSync(join(from, path, '..'), { recursive: true });
      writeFileSync(join(from, path), 'content');
      chmodSync(join(from, path), 0o755);
      symlinkSync('elsewhere', join(from, 'link'));
      const archive = join(folder, `${format}.tar`);
      execFileSync('tar', ['--create', `--format=${format}`, '--file', archive, '--directory', from, '.']);
      const read = normalised(readTarFile(archive));
      expect(read.find((e) => e.path === path)).toMatchObject({ mode: 0o755, data: Buffer.from('content') });
      expect(read.find((e) => e.path === 'link')).toMatchObject({ type: 'symlink', target: 'elsewhere' });
      const listed = execFileSync('tar', ['--list', '--verbose', '--full-time', '--utc', '--numeric-owner'], {
        input: writeTar(read),
        env: { ...process.env, LC_ALL: 'C.UTF-8' },
      }).toString();
      expect(listed).toContain(path);
      expect(listed.trim().split('\n')).toHaveLength(read.length);
      for (const line of listed.trim().split('\n')) expect(line).toMatch(/ 0\/0 .* 1970-01-01 00:00:00 /);
    },
  );

  it('have the same bytes for any order, times, owners and extra permissions of the files', () => {
    const make = (name: string, reversed: boolean) => {
      const from = join(folder, name);
      mkdirSync(join(from, 'b'), { recursive: true, mode: reversed ? 0o700 : 0o775 });
      for (const file of reversed ? ['b/z', 'a'] : ['a', 'b/z']) writeFileSync(join(from, file), file);
      chmodSync(join(from, 'a'), reversed ? 0o600 : 0o664);
      linkSync(join(from, 'a'), join(from, 'c'));
      const archive = join(folder, `${name}.tar`);
      const order = reversed ? ['c', 'b', 'a'] : ['a', 'b', 'c'];
      execFileSync('tar', ['--create', '--file', archive, '--directory', from, ...order]);
      return writeTar(normalised(readTarFile(archive)));
    };
    expect(make('one', false).equals(make('two', true))).toBe(true);
  });

  it('that are truncated are rejected', () => {
    const whole = writeTar([entry('big', { data: Buffer.alloc(4096, 1) })]);
    expect(() => readTar(whole.subarray(0, 2048))).toThrow('cut off');
  });
});
