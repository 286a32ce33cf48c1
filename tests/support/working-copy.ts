import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { linkPackages } from './sources.ts';

/**
 * Copies the project's work tree, including uncommitted changes, to a new folder. The folder is a separate repository
 * with one commit, ready to run.
 */
export function makeWorkingCopy(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 });
  const files = git(root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)));
  execFileSync('tar', ['-cf', join(folder, 'files.tar'), '--null', '--files-from=-'], {
    cwd: root,
    input: files.join('\0'),
  });
  execFileSync('tar', ['-xf', 'files.tar'], { cwd: folder });
  execFileSync('rm', ['files.tar'], { cwd: folder });
  git(folder, 'init', '--quiet');
  git(folder, 'add', '--all');
  const nobody = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false'];
  git(folder, ...nobody, 'commit', '--quiet', '--no-verify', '--message', 'work tree');
  linkPackages(root, folder);
  writeFileSync(join(folder, 'node_modules/.installed'), '');
}

/** Shares the project's cache of base and builder images. */
export function shareImageCache(folder: string): void {
  const [from, to] = [join(root, '.cache/image'), join(folder, '.cache/image')];
  mkdirSync(join(from, 'layers'), { recursive: true });
  mkdirSync(to, { recursive: true });
  for (const name of ['layers', 'base.tar'])
    if (existsSync(join(from, name))) symlinkSync(join(from, name), join(to, name));
}
