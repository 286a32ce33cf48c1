import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecretFile, readSecretFile, writeSecretFile } from './secret-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secret-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

// protects against hc/credentials-file
describe('a file with a secret', () => {
  test('only its owner can read the file and its folders, independent of earlier permissions', () => {
    const path = join(folder, 'a/b/secret.json');
    writeSecretFile(path, 'one');
    expect([modeOf(path), modeOf(join(folder, 'a')), modeOf(join(folder, 'a/b'))]).toEqual([
      0o600, 0o700, 0o700,
    ]);
    chmodSync(path, 0o644);
    writeSecretFile(path, 'two');
    expect([modeOf(path), readFileSync(path, 'utf8'), readSecretFile(path, 'It')]).toEqual([
      0o600,
      'two',
      'two',
    ]);
    expect(readdirSync(join(folder, 'a/b'))).toEqual(['secret.json']);
  });

  test('fails at once if no folder can be created', () => {
    // This path exists on Linux only.
    const place = process.platform === 'linux' ? '/proc/headset-cloud/a' : '/dev/null/a';
    expect(() => writeSecretFile(`${place}/secret.json`, 'one')).toThrow(/ENOENT|ENOTDIR/);
    writeFileSync(join(folder, 'file'), '');
    expect(() => writeSecretFile(join(folder, 'file/secret.json'), 'one')).toThrow(/ENOTDIR/);
    expect(() => writeSecretFile(join(folder, 'file/a/b/secret.json'), 'one')).toThrow(/ENOTDIR/);
  });

  test('replaces a link, and leaves its target unchanged', () => {
    const [path, other] = [join(folder, 'secret.json'), join(folder, 'other')];
    writeFileSync(other, 'of somebody else');
    symlinkSync(other, path);
    writeSecretFile(path, 'mine');
    expect([readFileSync(other, 'utf8'), readFileSync(path, 'utf8')]).toEqual(['of somebody else', 'mine']);
  });

  test.each([0o644, 0o640, 0o620, 0o604, 0o660])(
    'that others may read or change (%o) is rejected with the reason',
    (mode) => {
      const path = join(folder, 'secret.json');
      writeSecretFile(path, 'one');
      chmodSync(path, mode);
      expect(() => readSecretFile(path, 'The file')).toThrow(
        `The file, ${path}, may be read or changed by others (mode 0${mode.toString(8)}). Run chmod 600 ${path};`,
      );
    },
  );

  test('never overwrites an existing file', () => {
    const path = join(folder, 'a/secret.json');
    expect([createSecretFile(path, 'one'), createSecretFile(path, 'two')]).toEqual([true, false]);
    expect([modeOf(path), readFileSync(path, 'utf8')]).toEqual([0o600, 'one']);
    expect(readdirSync(join(folder, 'a'))).toEqual(['secret.json']);
  });

  test('returns no text if the file does not exist', () => {
    expect(readSecretFile(join(folder, 'none'), 'It')).toBeUndefined();
  });
});

describe('on a disk that stores only a part', () => {
  const path = () => join(folder, 'full');
  /** A limit of the file's size gives a short write, as a full disk does. */
  function write(how: 'writeSecretFile' | 'createSecretFile'): string {
    const program = `import { ${how} } from '${import.meta.resolve('./secret-file.ts')}';
      try { ${how}(${JSON.stringify(path())}, 'x'.repeat(5000)); } catch (error) { console.log(error.code); }`;
    const { stdout } = spawnSync(
      'bash',
      ['-c', `trap '' XFSZ; ulimit -f 2; exec "$0" --input-type=module -e "$1"`, process.execPath, program],
      { encoding: 'utf8' },
    );
    return stdout;
  }

  test('the previous file stays unchanged, and the error is reported', () => {
    writeSecretFile(path(), 'before');
    expect(write('writeSecretFile')).toBe('EFBIG\n');
    expect(readFileSync(path(), 'utf8')).toBe('before');
    expect(readdirSync(folder)).toEqual(['full']);
  });

  test('a new file does not exist, so that it can be created later', () => {
    expect(write('createSecretFile')).toBe('EFBIG\n');
    expect(readdirSync(folder)).toEqual([]);
    expect(createSecretFile(path(), 'later')).toBe(true);
  });
});
