/** A lock file of npm, as far as it is looked at. */
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

/** A lock file with what its packages may be. */
export interface Installation {
  readonly lock: Lock;
  readonly licences: readonly string[];
  /** Packages that may run a script while they are installed. */
  readonly scripts: readonly string[];
}

/** Licences of what runs, and of what builds and tests it: they ask for a notice at most. */
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

/** Licences of programs that the site's build and checks run, and that are given to nobody. */
export const buildLicences: readonly string[] = ['LGPL-3.0-or-later', 'MPL-2.0'];

/** Licences by the files in the packages, whose package.json does not name them as SPDX does. */
export const licencesByHand: Readonly<Record<string, string>> = {
  busboy: 'MIT',
  linkfs: 'Unlicense',
  streamsearch: 'MIT',
  'xmlhttprequest-ssl': 'MIT',
};

/** Whether an SPDX expression is fulfilled by the allowed licences. */
function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const bare = expression.replace(/^\((.*)\)$/, '$1');
  // No package in use mixes both in one expression; one that did would be refused as unknown.
  if (bare.includes(' AND ')) return bare.split(' AND ').every((one) => allowed.includes(one));
  return bare.split(' OR ').some((one) => allowed.includes(one));
}

/** What is wrong with the packages of a lock file; the project's own are links. */
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

/** The dependencies of a package.json that are not one version each; the project's own packages need none. */
export function manifestProblems(manifest: {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}): string[] {
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  return Object.entries(all)
    .filter(([name, version]) => !name.startsWith('@headset-cloud/') && !exact.test(version))
    .map(([name, version]) => `${name}: ${version}`);
}
