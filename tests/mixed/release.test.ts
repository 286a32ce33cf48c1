import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { releaseName } from '../architecture/breaking/releases.ts';
import { sourcesOf } from '../support/sources.ts';
import { findRelease } from './release.ts';

let folder: string;
let origin: string;
const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=e@example.com', ...args], {
    ...{ cwd: origin, encoding: 'utf8', stdio: 'pipe' },
  }).trim();
const write = (name: string, text: string): void => {
  mkdirSync(join(origin, name, '..'), { recursive: true });
  writeFileSync(join(origin, name), text);
};
/** Writes a file and commits all changes. Returns the commit. */
const commit = (name: string, text: string): string => {
  write(name, text);
  git('add', '--all');
  git('commit', '--quiet', '--message', name);
  return git('rev-parse', 'HEAD');
};

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'headset-cloud-release-')));
  origin = join(folder, 'origin');
  mkdirSync(origin);
  git('init', '--quiet');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the release', () => {
  it('is the newest commit that changed the version, regardless of later commits', () => {
    commit('a', '1');
    commit(releaseName, '0.1.0\n');
    const release = commit(releaseName, '0.2.0\n');
    commit('a', '2');
    // The next release is not committed yet.
    write(releaseName, '0.3.0\n');
    expect(findRelease(origin)).toEqual({ commit: release, name: '0.2.0' });
  });

  it('does not exist before the first release', () => {
    commit('a', '1');
    write(releaseName, '0.1.0\n');
    expect(findRelease(origin)).toEqual({ skipped: 'no release yet' });
  });

  it('can be set by any reference; an unknown reference is an error', () => {
    const first = commit('a', '1');
    commit('a', '2');
    expect(findRelease(origin, 'HEAD~1')).toEqual({ commit: first, name: 'HEAD~1' });
    expect(() => findRelease(origin, 'nothing')).toThrow('RELEASE=nothing names no commit');
  });

  it('is fetched if the clone is shallow', () => {
    const release = commit(releaseName, '0.1.0\n');
    commit('a', '1');
    commit('a', '2');
    const clone = join(folder, 'clone');
    git('clone', '--quiet', '--depth=1', pathToFileURL(origin).href, clone);
    expect(findRelease(clone)).toEqual({ commit: release, name: '0.1.0' });
  });

  it('is skipped if it cannot be fetched or no repository exists', () => {
    commit(releaseName, '0.1.0\n');
    commit('a', '1');
    const clone = join(folder, 'clone');
    git('clone', '--quiet', '--depth=1', pathToFileURL(origin).href, clone);
    rmSync(join(origin, '.git'), { recursive: true });
    expect(findRelease(clone)).toEqual({ skipped: expect.stringMatching(/older than this shallow clone/) });
    expect(findRelease(origin)).toEqual({
      skipped: expect.stringMatching(/not a clone of the git repository/),
    });
  });
});

describe('its sources', () => {
  const lock = (name: string) =>
    write('package-lock.json', JSON.stringify({ name, lockfileVersion: 3, packages: {} }));

  it('are in a separate folder with the current packages and the services of the release', () => {
    write('.gitignore', 'node_modules/\n.cache/\n');
    lock('same');
    write('services/one/main.js', 'old');
    const release = commit('a', '1');
    commit('services/one/main.js', 'new');
    write('node_modules/dep/index.js', 'dep');
    mkdirSync(join(origin, 'node_modules/@headset-cloud'));
    execFileSync('ln', ['-s', '../../services/one', join(origin, 'node_modules/@headset-cloud/one')]);

    const sources = sourcesOf(release, origin);
    expect(readFileSync(join(sources, 'node_modules/@headset-cloud/one/main.js'), 'utf8')).toBe('old');
    expect(readFileSync(join(sources, 'node_modules/dep/index.js'), 'utf8')).toBe('dep');
    expect(git('status', '--porcelain')).toBe('');
    // The second call uses the cache, with the current packages.
    write('node_modules/later/index.js', 'later');
    expect(sourcesOf(release, origin)).toBe(sources);
    expect(existsSync(join(sources, 'node_modules/later/index.js'))).toBe(true);
  });

  it('have the packages of their own lock file if it differs', () => {
    write('.gitignore', 'node_modules/\n.cache/\n');
    write('package.json', JSON.stringify({ name: 'before' }));
    lock('before');
    mkdirSync(join(origin, 'services'));
    const release = commit('services/x', '1');
    lock('today');
    write('node_modules/dep/index.js', 'dep');
    const sources = sourcesOf(release, origin);
    expect(existsSync(join(sources, 'node_modules/.installed'))).toBe(true);
    expect(existsSync(join(sources, 'node_modules/dep'))).toBe(false);
  });
});
