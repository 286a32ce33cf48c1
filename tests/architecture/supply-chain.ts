/** The checked parts of npm's lock file. */
export interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly version?: string;
        readonly integrity?: string;
        readonly license?: string;
        readonly link?: boolean;
        readonly hasInstallScript?: boolean;
        readonly resolved?: string;
      }
    >
  >;
}

/** A lock file with the properties that its packages may have. */
export interface Installation {
  readonly lock: Lock;
  readonly licences: readonly string[];
  /** Packages that may run an install script. */
  readonly scripts: readonly string[];
}

/** Licences of packages that run, build or test the platform: they require a notice at most. */
export const allowedLicences: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC-BY-4.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
];

/** Licences of programs for the site's build and checks, which are not distributed. */
export const buildLicences: readonly string[] = ['LGPL-3.0-or-later', 'MPL-2.0'];

/** Licences from files in the packages, for packages whose package.json has no valid SPDX expression. */
export const licencesByHand: Readonly<Record<string, string>> = {
  busboy: 'MIT',
  linkfs: 'Unlicense',
  streamsearch: 'MIT',
  'xmlhttprequest-ssl': 'MIT',
};

/** True if the allowed licences satisfy an SPDX expression. */
function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const bare = expression.replace(/^\((.*)\)$/, '$1');
  // No used package mixes both in one expression; such a package would be rejected as unknown.
  if (bare.includes(' AND ')) return bare.split(' AND ').every((one) => allowed.includes(one));
  return bare.split(' OR ').some((one) => allowed.includes(one));
}

/** Problems of the packages of a lock file; the project's own packages are links. */
export function lockProblems({ lock, licences, scripts }: Installation): string[] {
  return Object.entries(lock.packages).flatMap(([path, entry]) => {
    const at = path.lastIndexOf('node_modules/');
    if (at < 0 || entry.link) return [];
    const name = path.slice(at + 'node_modules/'.length);
    const licence = entry.license ?? licencesByHand[name];
    const problems = [
      !(licence && isAllowed(licence, licences)) && `licence ${licence ?? 'unknown'}`,
      !entry.integrity?.startsWith('sha512-') && 'no integrity',
      entry.hasInstallScript && !scripts.includes(name) && 'an install script',
      entry.resolved && 'a download address',
    ];
    return problems.filter(Boolean).map((problem) => `${name}@${entry.version}: ${problem}`);
  });
}

const exact = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

/** Dependencies of a package.json without an exact version; the project's own packages need none. */
export function manifestProblems(manifest: {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}): string[] {
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  return Object.entries(all)
    .filter(([name, version]) => !name.startsWith('@headset-cloud/') && !exact.test(version))
    .map(([name, version]) => `${name}: ${version}`);
}
