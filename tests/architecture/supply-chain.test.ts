import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  allowedLicences,
  buildLicences,
  type Installation,
  type Lock,
  licencesByHand,
  lockProblems,
  manifestProblems,
} from './supply-chain.ts';

/** Installed packages, and scripts that may run during the installation (docs/security.md, "Dependencies"). */

const root = join(import.meta.dirname, '../..');
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));

const platform: Installation = {
  lock: read('package-lock.json'),
  licences: allowedLicences,
  scripts: [
    '@bufbuild/buf',
    '@parcel/watcher',
    '@swc/core',
    'esbuild',
    'node',
    'protobufjs',
    'unrs-resolver',
  ],
};
/** Packages that build the site; only bundled ones are in an image, and the bundle's test checks their licences. */
const site: Installation = {
  lock: read('docs-site/package-lock.json'),
  licences: [...allowedLicences, ...buildLicences],
  scripts: [
    '@parcel/watcher',
    'core-js',
    'core-js-pure',
    'es5-ext',
    'esbuild',
    'gatsby',
    'gatsby-cli',
    'lmdb',
    'msgpackr-extract',
    'node',
    'sharp',
  ],
};

// protects against supply/lock
describe('lock files', () => {
  it.each([
    ['package-lock.json', platform],
    ['docs-site/package-lock.json', site],
  ])(
    '%s: known licences, integrity, no download addresses, no unknown install scripts',
    (_, installation) => {
      expect(lockProblems(installation)).toEqual([]);
    },
  );

  it('every licence in the manual list is needed', () => {
    const all = [platform, site].flatMap(({ lock }) => Object.entries(lock.packages));
    const needed = new Set(
      all.filter(([, { license }]) => !license).map(([path]) => path.split('node_modules/').at(-1)),
    );
    expect(Object.keys(licencesByHand).filter((name) => !needed.has(name))).toEqual([]);
  });

  // protects against supply/versions
  it('every package.json names exact versions', () => {
    const folders = ['.', 'gateway', 'proto', 'tests', 'docs-site'].concat(
      globSync('services/{*,kit/*}/package.json', { cwd: root }).map(dirname),
    );
    expect(
      folders.flatMap((folder) =>
        manifestProblems(read(join(folder, 'package.json'))).map((problem) => `${folder}: ${problem}`),
      ),
    ).toEqual([]);
  });

  it('npm keeps download addresses out of the lock files', () => {
    for (const folder of ['.', 'docs-site']) {
      const settings = readFileSync(join(root, folder, '.npmrc'), 'utf8');
      expect(settings).toContain('omit-lockfile-registry-resolved=true');
    }
  });
});

// protects against supply/lock
describe('a lock file with', () => {
  const sound = { version: '1.0.0', integrity: 'sha512-x', license: 'MIT' };
  const problems = (entry: Lock['packages'][string], path = 'node_modules/a') =>
    lockProblems({ lock: { packages: { [path]: entry } }, licences: ['MIT'], scripts: [] });

  it.each<[string, Lock['packages'][string], string]>([
    ['a licence that is not allowed', { ...sound, license: 'AGPL-3.0' }, 'a@1.0.0: licence AGPL-3.0'],
    [
      'one licence of two that is not allowed',
      { ...sound, license: 'MIT AND GPL-3.0' },
      'a@1.0.0: licence MIT AND GPL-3.0',
    ],
    ['no licence', { version: '1.0.0', integrity: 'sha512-x' }, 'a@1.0.0: licence unknown'],
    ['no integrity', { version: '1.0.0', license: 'MIT' }, 'a@1.0.0: no integrity'],
    ['an old hash', { ...sound, integrity: 'sha1-x' }, 'a@1.0.0: no integrity'],
    ['an install script', { ...sound, hasInstallScript: true }, 'a@1.0.0: an install script'],
    [
      'a download address',
      { ...sound, resolved: 'https://registry.example/a' },
      'a@1.0.0: a download address',
    ],
  ])('%s is refused', (_, entry, problem) => {
    expect(problems(entry)).toEqual([problem]);
  });

  it('a choice with an allowed licence passes', () => {
    expect(problems({ ...sound, license: '(GPL-3.0 OR MIT)' })).toEqual([]);
    expect(problems(sound)).toEqual([]);
  });

  it('a range, a tag or a URL instead of a version is rejected', () => {
    const dependencies = { a: '^1.0.0', b: 'latest', c: 'git+https://example.com/c', d: '1.2.3', e: '*' };
    expect(manifestProblems({ dependencies })).toEqual([
      'a: ^1.0.0',
      'b: latest',
      'c: git+https://example.com/c',
      'e: *',
    ]);
    expect(manifestProblems({ dependencies: { '@headset-cloud/runtime': '*' } })).toEqual([]);
  });
});
