import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson } from './archive.ts';
import type { DebianPackage } from './base.ts';

/** The sources of an image. */
export interface SourceVersion {
  /** SemVer, from package.json. */
  readonly version: string;
  /** The commit's hash, with `-dirty` where files differ from it; empty outside git. */
  readonly revision: string;
  /** Time of the commit; RFC 3339. */
  readonly date: string;
}

export interface Contents {
  readonly name: string;
  /** The staged application, with npm's record of the installed packages. */
  readonly app: string;
  readonly nodeFile: string;
  readonly version: SourceVersion;
  readonly basePackages: readonly DebianPackage[];
  readonly libatomic?: string | undefined;
}

interface Component {
  readonly type: 'library' | 'application' | 'operating-system';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly object[];
}

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex');

/**
 * The image's bill of materials, CycloneDX 1.5 as JSON: npm packages, Node, packages of the base. The same
 * content gives the same bytes, unlike `npm sbom`, which adds a random serial number, the time and the folder.
 */
export function billOfMaterials(contents: Contents): Buffer {
  const { name, version } = contents;
  const components = [
    ...npmComponents(contents.app),
    nodeComponent(contents.nodeFile),
    ...contents.basePackages.map(debianComponent),
    ...(contents.libatomic ? [libatomicComponent(contents.libatomic)] : []),
  ].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp: version.date,
      component: {
        ...{ type: 'application', 'bom-ref': `${name}@${version.version}`, name, version: version.version },
        ...(version.revision && { properties: [{ name: 'git.revision', value: version.revision }] }),
      },
    },
    components,
  };
  return canonicalJson({ serialNumber: `urn:uuid:${uuidOf(canonicalJson(bill))}`, ...bill }, 1);
}

/** A UUID (version 8: custom) derived from a content. */
function uuidOf(content: Buffer): string {
  const h = sha256(content);
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-8${h.slice(13, 16)}-8${h.slice(17, 20)}-${h.slice(20, 32)}`;
}

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
}

/** Every package that npm has installed, from npm's record; the project's own packages are links. */
function npmComponents(app: string): Component[] {
  const record = join(app, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return [];
  const { packages } = JSON.parse(readFileSync(record, 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const byRef = new Map<string, Component>();
  for (const [path, { version, integrity, link }] of Object.entries(packages)) {
    const at = path.lastIndexOf('node_modules/');
    if (link || at < 0 || !version) continue;
    const name = path.slice(at + 'node_modules/'.length);
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    const license = licenseOf(join(app, path, 'package.json'));
    byRef.set(purl, {
      ...{ type: 'library', 'bom-ref': purl, name, version, purl },
      ...(integrity && { hashes: [hashOf(integrity)] }),
      ...(license && { licenses: [licence(license)] }),
    });
  }
  return [...byRef.values()];
}

/** npm's `sha512-<base64>`, as CycloneDX names it. */
function hashOf(integrity: string): { alg: string; content: string } {
  const [alg = '', value = ''] = integrity.split(/-(.*)/s);
  return { alg: alg.replace('sha', 'SHA-'), content: Buffer.from(value, 'base64').toString('hex') };
}

function licenseOf(packageJson: string): string | undefined {
  const { license } = JSON.parse(readFileSync(packageJson, 'utf8'));
  const word = typeof license === 'object' ? license?.type : license;
  return typeof word === 'string' && word !== '' ? word : undefined;
}

const licence = (text: string) => (/ |\(/.test(text) ? { expression: text } : { license: { name: text } });

function nodeComponent(file: string): Component {
  const { version } = process;
  const purl = `pkg:generic/node@${version.slice(1)}`;
  return {
    ...{ type: 'application', 'bom-ref': purl, name: 'node', version: version.slice(1), purl },
    hashes: [{ alg: 'SHA-256', content: sha256(readFileSync(file)) }],
    licenses: [licence('MIT')],
  };
}

function debianComponent(of: DebianPackage): Component {
  const { name, version, architecture, distribution } = of;
  const at = encodeURIComponent(version);
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${at}?arch=${architecture}&distro=${distribution}`;
  // Debian's names are not all SPDX's, and so no expression.
  const licenses = of.licences.map((one) => ({ license: { name: one } }));
  return { type: 'library', 'bom-ref': purl, name, version, purl, licenses };
}

function libatomicComponent(file: string): Component {
  const content = sha256(readFileSync(file));
  const purl = `pkg:generic/libatomic@1?checksum=sha256:${content}`;
  return {
    ...{ type: 'library', 'bom-ref': purl, name: 'libatomic.so.1', version: '1', purl },
    hashes: [{ alg: 'SHA-256', content }],
  };
}
