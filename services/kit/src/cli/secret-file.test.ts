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
import { readSecretFile, writeSecretFile } from './secret-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secret-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

// withstands hc/credentials-file
describe('a file with a secret', () => {
  test('is for its owner alone, with its folders, whatever was there before', () => {
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

  test('is refused, at once, where nobody can make a folder', () => {
    // Only Linux has this place.
    const place = process.platform === 'linux' ? '/proc/headset-cloud/a' : '/dev/null/a';
    expect(() => writeSecretFile(`${place}/secret.json`, 'one')).toThrow(/ENOENT|ENOTDIR/);
    writeFileSync(join(folder, 'file'), '');
    expect(() => writeSecretFile(join(folder, 'file/secret.json'), 'one')).toThrow(/ENOTDIR/);
    expect(() => writeSecretFile(join(folder, 'file/a/b/secret.json'), 'one')).toThrow(/ENOTDIR/);
  });

  test('takes the place of a link, and leaves what that points to', () => {
    const [path, other] = [join(folder, 'secret.json'), join(folder, 'other')];
    writeFileSync(other, 'of somebody else');
    symlinkSync(other, path);
    writeSecretFile(path, 'mine');
    expect([readFileSync(other, 'utf8'), readFileSync(path, 'utf8')]).toEqual(['of somebody else', 'mine']);
  });

  test.each([0o644, 0o640, 0o620, 0o604, 0o660])(
    'that others may read or change (%o) is refused with the reason',
    (mode) => {
      const path = join(folder, 'secret.json');
      writeSecretFile(path, 'one');
      chmodSync(path, mode);
      expect(() => readSecretFile(path, 'The file')).toThrow(
        `The file, ${path}, may be read or changed by others (mode 0${mode.toString(8)}). Run chmod 600 ${path};`,
      );
    },
  );

  test('that is not there has no text', () => {
    expect(readSecretFile(join(folder, 'none'), 'It')).toBeUndefined();
  });
});

test('where the disk takes a part only, the file before stays whole, and it is said', () => {
  const path = join(folder, 'full');
  writeSecretFile(path, 'before');
  const program = `import { writeSecretFile } from '${import.meta.resolve('./secret-file.ts')}';
    try { writeSecretFile(${JSON.stringify(path)}, 'x'.repeat(5000)); } catch (error) { console.log(error.code); }`;
  // A limit of the file's size gives a short write, as a full disk does.
  const { stdout } = spawnSync(
    'bash',
    ['-c', `trap '' XFSZ; ulimit -f 2; exec "$0" --input-type=module -e "$1"`, process.execPath, program],
    { encoding: 'utf8' },
  );
  expect(stdout).toBe('EFBIG\n');
  expect(readFileSync(path, 'utf8')).toBe('before');
  expect(readdirSync(folder).filter((name) => name.startsWith('full'))).toEqual(['full']);
});
