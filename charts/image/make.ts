import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import {
  canonicalJson,
  normalisedImage,
  readImage,
  type Written,
  writeImage,
  writeWhole,
} from './archive.ts';
import { type BaseFacts, baseFacts, baseReference, hasProgram, makeBase } from './base.ts';
import { type Builder, findBuilder } from './builder.ts';
import type { SourceVersion } from './sbom.ts';
import { imageNames, type Kind, type Staging, stage } from './stage.ts';

export const root = resolve(import.meta.dirname, '../..');

/** The base where mmdebstrap is missing: no shell, glibc, the C++ library. */
const wellKnownBase = 'gcr.io/distroless/cc-debian12';

export interface Settings {
  readonly kind: Kind;
  readonly source: string;
  /** `name:tag`. */
  readonly reference: string;
  /** The image's archive. */
  readonly out: string;
  /** Name of a base image; undefined: the base built here. */
  readonly base: string | undefined;
  /** Cache folder for the base and compressed layers. */
  readonly cache: string;
  readonly version: SourceVersion;
}

/** Reads TAG, SITE, TEST, DEV, BASE, OUT, SOURCE, REVISION and SOURCE_DATE_EPOCH. Throws if two contradict each other. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  const given = (name: string) => env[name] || undefined;
  const chosen = (['SITE', 'TEST', 'DEV'] as const).filter(given);
  if (chosen.length > 1)
    throw new Error(
      `${chosen.map((name) => `${name}=1`).join(' and ')} are different images: make one at a time.`,
    );
  const kind: Kind = chosen[0]
    ? ({ SITE: 'site', TEST: 'test', DEV: 'dev' } as const)[chosen[0]]
    : 'platform';
  const source = resolve(given('SOURCE') ?? root);
  const version = versionOf(source, given('REVISION'), given('SOURCE_DATE_EPOCH'));
  const tag = given('TAG') ?? version.revision.replace(/^(.{12})[^-]*/, '$1');
  const reference = /[/:]/.test(tag) ? tag : `${imageNames[kind]}:${tag || version.version}`;
  if (!/^[a-z0-9][a-z0-9._/:-]*:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(reference))
    throw new Error(`TAG: "${tag}" is neither a tag nor name:tag.`);
  const cache = join(root, '.cache/image');
  const out = resolve(given('OUT') ?? join(cache, `${reference.replace(/[/:]/g, '-')}.tar`));
  return { kind, source, reference, out, base: given('BASE'), cache, version };
}

/** Version of the sources; the commit, if git tracks them. */
function versionOf(source: string, revision: string | undefined, epoch: string | undefined): SourceVersion {
  if (epoch !== undefined && !/^\d{1,11}$/.test(epoch))
    throw new Error(`SOURCE_DATE_EPOCH: "${epoch}" is no number of seconds.`);
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  const date = (seconds: string) => new Date(Number(seconds) * 1000).toISOString();
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: source, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
  try {
    // Sources inside another git repository (an unpacked release) are not its commit.
    if (realpathSync(git('rev-parse', '--show-toplevel')) !== realpathSync(source)) throw new Error('other');
    const dirty = git('status', '--porcelain', '--untracked-files=normal') === '' ? '' : '-dirty';
    return {
      version,
      revision: revision ?? `${git('rev-parse', 'HEAD')}${dirty}`,
      date: date(epoch ?? git('log', '-1', '--format=%ct')),
    };
  } catch {
    return { version, revision: revision ?? '', date: date(epoch ?? '0') };
  }
}

export interface Made extends Written {
  /** The image's archive. */
  readonly archive: string;
  /** Bill of materials, CycloneDX. */
  readonly sbom: string;
  readonly base: string;
}

/**
 * Makes an image: stages it, builds it with docker or buildah, normalises the result,
 * and writes it together with its bill of materials and its digest.
 */
export async function makeImage(settings: Settings, say: (line: string) => void): Promise<Made> {
  const builder = findBuilder();
  const work = mkdtempSync(join(tmpdir(), 'headset-cloud-image-'));
  try {
    const base = await provideBase(settings, builder, work, say);
    say(`staging ${settings.kind}`);
    const folder = join(work, 'staged');
    await stage(stagingOf(settings, folder, base.facts));
    say(`building with ${builder.name}`);
    return await buildStaged(settings, folder, base, builder);
  } finally {
    builder.close();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Builds the staged folder on a base that the builder has. */
export async function buildStaged(
  settings: Settings,
  folder: string,
  base: Base,
  builder: Builder,
): Promise<Made> {
  const raw = `${folder}.built.tar`;
  const labels = labelsOf(settings, base.name);
  builder.build({ folder, base: base.name, reference: localName(settings.reference), labels, out: raw });
  const built = normalisedImage(readImage(raw), base.facts.layers, settings.version.date);
  rmSync(raw);
  const image = { ...built, reference: settings.reference };
  const written = await writeImage(image, settings.out, join(settings.cache, 'layers'));
  const sbom = `${settings.out}.cdx.json`;
  writeWhole(sbom, readFileSync(join(folder, 'app/sbom.cdx.json')));
  const made = { ...written, archive: settings.out, sbom, base: base.name };
  writeWhole(`${settings.out}.json`, canonicalJson(made, 2));
  return made;
}

/** buildah keeps images without a registry under this name. */
const localName = (reference: string) => (reference.includes('/') ? reference : `localhost/${reference}`);

export function stagingOf(settings: Settings, folder: string, base: BaseFacts): Staging {
  return {
    kind: settings.kind,
    source: settings.source,
    folder,
    node: join(root, 'node_modules/.bin/node'),
    version: settings.version,
    basePackages: base.packages,
    libatomic: base.hasLibatomic ? undefined : ownLibatomic(),
  };
}

function labelsOf({ version, reference }: Settings, base: string): Record<string, string> {
  return {
    'org.opencontainers.image.title': basename(reference).replace(/:.*/, ''),
    'org.opencontainers.image.version': version.version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.base.name': base,
    ...(version.revision && { 'org.opencontainers.image.revision': version.revision }),
  };
}

export interface Base {
  readonly name: string;
  readonly facts: BaseFacts;
}

/** Loads the base into the builder: the one that BASE names, or the one built here. */
export async function provideBase(
  { base, cache }: Pick<Settings, 'base' | 'cache'>,
  builder: Builder,
  work: string,
  say: (line: string) => void,
): Promise<Base> {
  const own = ownBaseArchive(cache);
  const name = base ?? (existsSync(own) || hasProgram('mmdebstrap') ? undefined : wellKnownBase);
  if (name !== undefined) {
    const archive = join(work, 'base.tar');
    builder.save(name, archive);
    return { name, facts: baseFacts(archive) };
  }
  await ensureBase(cache, say);
  builder.load(own);
  return { name: baseReference, facts: baseFacts(own) };
}

export const ownBaseArchive = (cache: string) => join(cache, 'base.tar');

/** Builds the base if it is missing; `make image-base` rebuilds it with Debian's newest packages. */
export async function ensureBase(cache: string, say: (line: string) => void, again = false): Promise<void> {
  const archive = ownBaseArchive(cache);
  if (existsSync(archive) && !again) return;
  if (!hasProgram('mmdebstrap'))
    throw new Error(
      'mmdebstrap is missing (Debian: apt-get install mmdebstrap): it makes the base. Or set BASE.',
    );
  say('making the base with mmdebstrap');
  mkdirSync(dirname(archive), { recursive: true });
  await makeBase(archive, join(cache, 'layers'));
}

/** This machine's library, for a base without one. */
function ownLibatomic(): string {
  const triplet = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }[process.arch as string] ?? '';
  const file = ['/usr/lib', '/lib']
    .flatMap((place) => [join(place, triplet), `${place}64`, place])
    .map((place) => join(place, 'libatomic.so.1'))
    .find(existsSync);
  if (!file)
    throw new Error(
      'The base has no libatomic.so.1, which Node needs, nor has this machine: install libatomic1, or choose another BASE.',
    );
  return file;
}
