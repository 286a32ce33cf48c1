import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contents, readImage, writeImage } from './archive.ts';
import { licencesOf } from './debian-licences.ts';
import { normalised, readTar, type TarEntry, writeTar } from './tar.ts';

/** A package of the base, from dpkg's records. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** `debian-12`. */
  readonly distribution: string;
  /** Short names of its licences, or NOASSERTION. */
  readonly licences: readonly string[];
}

const suite = 'bookworm';

/** The packages of the base: libraries for Node, time zones, authorities, names of protocols. No shell. */
const chosen = [
  'base-files',
  'ca-certificates',
  'gcc-12-base',
  'libatomic1',
  'libc6',
  'libgcc-s1',
  'libstdc++6',
  'netbase',
  'tzdata',
];

/** Excluded files: programs, their data, and documents, except the copyright files. */
const leftOut =
  /^(usr\/)?s?bin\/|^usr\/share\/(man|locale|lintian|bug|info|perl5|debconf|gcc|gdb|zoneinfo\/right)\/|^usr\/share\/doc\/[^/]+\/(?!copyright$)|\/gconv\/|^var\/(lock|tmp)$|^etc\/(init\.d|update-motd\.d|cron|default|profile)/;

const authorities = 'usr/share/ca-certificates/';

export const hasProgram = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((place) => place !== '' && existsSync(join(place, name)));

/**
 * Builds the base from Debian's packages and writes it as an image archive. apt fetches and verifies the
 * packages; their scripts do not run. Needs mmdebstrap and dpkg-deb.
 */
export async function makeBase(out: string, cache: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'headset-cloud-base-'));
  try {
    const debs = fetchPackages(work);
    const entries = debs.flatMap((deb) => packageEntries(join(work, deb)));
    await writeImage(
      {
        reference: baseReference,
        architecture: imageArchitecture(),
        created: new Date(0).toISOString(),
        config: { Env: ['PATH=/usr/local/bin:/usr/bin:/bin'] },
        layers: [writeTar(normalised([...entries, ...addedFiles(entries)]))],
      },
      out,
      cache,
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

export const baseReference = 'localhost/headset-cloud-base:latest';

/** This machine's processor architecture, as images name it. */
export function imageArchitecture(): string {
  const known: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
  const name = known[process.arch];
  if (!name) throw new Error(`There is no image for ${process.arch}: build on x64 or arm64.`);
  return name;
}

/** Fetches the chosen packages into the folder; their files' names, sorted. */
function fetchPackages(work: string): string[] {
  // Uses the machine's sources, and therefore its mirror, if they are for the same suite.
  const sources = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'].find(
    (file) => existsSync(file) && readFileSync(file, 'utf8').includes(suite),
  );
  const args = [
    '--quiet',
    '--variant=extract',
    '--format=null',
    `--include=${chosen.join(',')}`,
    `--extract-hook=cp "$1"/var/cache/apt/archives/*.deb ${JSON.stringify(work)}`,
    suite,
    '-',
    ...(sources ? [sources] : []),
  ];
  try {
    execFileSync('mmdebstrap', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer };
    throw new Error(`mmdebstrap could not fetch the base's packages:\n${stderr ?? message}`);
  }
  // Their dependencies (openssl, debconf, awk) come too; they serve programs that are left out.
  const names = new Map(readdirSync(work).map((deb) => [deb.slice(0, deb.indexOf('_')), deb]));
  return chosen.map((name) => {
    const deb = names.get(name);
    if (!deb) throw new Error(`mmdebstrap fetched no package ${name}.`);
    return deb;
  });
}

const file = (path: string, data: Buffer): TarEntry => ({
  path,
  type: 'file',
  mode: 0o644,
  data,
  target: '',
});

/** The files of a package, with dpkg's record at the path that scanners of images without dpkg read. */
function packageEntries(deb: string): TarEntry[] {
  const run = (...args: string[]) => execFileSync('dpkg-deb', args, { maxBuffer: 2 ** 28 });
  const control = run('--field', deb);
  const name = /^Package: (.+)$/m.exec(control.toString())?.[1];
  return [
    ...readTar(run('--fsys-tarfile', deb)).filter(({ path }) => !leftOut.test(path)),
    file(`var/lib/dpkg/status.d/${name}`, control),
  ];
}

/** The files that the packages' scripts would create: the bundle of authorities, and the names of the users. */
function addedFiles(entries: readonly TarEntry[]): TarEntry[] {
  const bundle = entries
    .filter(({ path }) => path.startsWith(authorities) && path.endsWith('.crt'))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ data }) => data);
  return [
    file('etc/ssl/certs/ca-certificates.crt', Buffer.concat(bundle)),
    file('etc/passwd', Buffer.from('root:x:0:0:root:/root:\nheadset-cloud:x:65532:65532::/tmp:\n')),
    file('etc/group', Buffer.from('root:x:0:\nheadset-cloud:x:65532:\n')),
  ];
}

/** Properties of a base: dpkg's packages, and whether it has the library that Node 26 needs. */
export interface BaseFacts {
  readonly layers: number;
  readonly packages: readonly DebianPackage[];
  readonly hasLibatomic: boolean;
}

export function baseFacts(archive: string): BaseFacts {
  const image = readImage(archive);
  const files = contents(image);
  return {
    layers: image.layers.length,
    packages: debianPackages(files),
    hasLibatomic: [...files.keys()].some((path) => /(^|\/)libatomic\.so\.1$/.test(path)),
  };
}

/** Packages from dpkg's records, at either path; none for a base without dpkg. */
function debianPackages(files: ReadonlyMap<string, TarEntry>): DebianPackage[] {
  const field = (text: string, name: string) => new RegExp(`^${name}: (.+)$`, 'm').exec(text)?.[1] ?? '';
  const distribution = distributionOf(files.get('usr/lib/os-release')?.data.toString() ?? '');
  return [...files.values()]
    .filter(({ path, type }) => type === 'file' && /^var\/lib\/dpkg\/status(\.d\/[^/]+)?$/.test(path))
    .filter(({ path }) => !path.endsWith('.md5sums'))
    .flatMap(({ data }) => data.toString().split(/\n\n+/))
    .filter((text) => field(text, 'Package') !== '')
    .map((text) => ({
      name: field(text, 'Package'),
      version: field(text, 'Version'),
      architecture: field(text, 'Architecture'),
      distribution,
      licences: licencesOf(field(text, 'Package'), files),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function distributionOf(osRelease: string): string {
  const value = (key: string) => new RegExp(`^${key}="?([^"\n]+)"?$`, 'm').exec(osRelease)?.[1];
  return `${value('ID') ?? 'debian'}-${value('VERSION_ID') ?? 'unknown'}`;
}
