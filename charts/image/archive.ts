import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { normalised, readTar, readTarFile, type TarEntry, writeTar } from './tar.ts';

/** Run configuration of an image, without the builders' additional fields. */
export interface RunConfig {
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Labels?: Readonly<Record<string, string>>;
}

/** An image: its layers as uncompressed tar archives, the base's first. */
export interface Image {
  /** `name:tag`. */
  readonly reference: string;
  readonly architecture: string;
  /** RFC 3339. */
  readonly created: string;
  readonly config: RunConfig;
  readonly layers: readonly Buffer[];
}

/** Result of writing an image. */
export interface Written {
  readonly reference: string;
  /** Digest of the manifest, by which a registry identifies the image. */
  readonly digest: string;
  /** Size of the compressed layers; bytes. */
  readonly compressedBytes: number;
  readonly layers: readonly { readonly digest: string; readonly bytes: number }[];
}

const sha256 = (data: Buffer) => createHash('sha256').update(data).digest('hex');
const runFields = ['User', 'WorkingDir', 'Env', 'Entrypoint', 'Cmd', 'ExposedPorts', 'Labels'] as const;

/** JSON with sorted names, so that equal values give equal bytes. */
export function canonicalJson(value: unknown, indent?: number): Buffer {
  const sorted = (_: string, v: unknown) =>
    v && typeof v === 'object' && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v;
  return Buffer.from(JSON.stringify(value, sorted, indent));
}

/** Reads an archive of `docker save`, `buildah push docker-archive:` or this tool. Throws if it contains no image. */
export function readImage(file: string): Image {
  const files = new Map(readTarFile(file).map((e) => [e.path, e]));
  const dataOf = (path: string): Buffer => {
    const entry = files.get(path);
    if (!entry) throw new Error(`${file}: ${path} is missing in the image's archive`);
    // docker save of old versions writes a layer once and links to it.
    return entry.type === 'symlink' ? dataOf(join(dirname(path), entry.target)) : entry.data;
  };
  const [image] = JSON.parse(dataOf('manifest.json').toString());
  const config = JSON.parse(dataOf(image.Config).toString());
  return {
    reference: image.RepoTags?.[0] ?? '',
    architecture: config.architecture,
    created: config.created,
    config: Object.fromEntries(
      runFields.flatMap((name) => (config.config?.[name] ? [[name, config.config[name]]] : [])),
    ),
    layers: image.Layers.map((path: string) => plainLayer(dataOf(path))),
  };
}

const plainLayer = (data: Buffer) => (data[0] === 0x1f && data[1] === 0x8b ? gunzipSync(data) : data);

/**
 * Normalises the image, so that its bytes depend on its content only: sorts the layers' entries, fixes owners
 * and times, removes empty layers and the builders' additions. The first `kept` layers are the base's: they
 * stay unchanged, so that they are stored and pulled once.
 */
export function normalisedImage(image: Image, kept: number, created: string): Image {
  const base = image.layers.slice(0, kept);
  // Builders repeat different folders of lower layers; only the first entry of a folder is kept.
  const folders = new Set(
    base.flatMap((layer) => readTar(layer)).flatMap(({ type, path }) => (type === 'directory' ? [path] : [])),
  );
  const own = image.layers.slice(kept).map((layer) =>
    normalised(readTar(layer)).filter(({ type, path }) => {
      if (type !== 'directory') return true;
      const isNew = !folders.has(path);
      folders.add(path);
      return isNew;
    }),
  );
  const { 'io.buildah.version': _, ...labels } = image.config.Labels ?? {};
  return {
    ...image,
    created,
    config: { ...image.config, Labels: labels },
    layers: [...base, ...own.filter((entries) => entries.length > 0).map(writeTar)],
  };
}

/** All files of the image as a container sees them; later layers replace files of earlier ones. */
export function contents(image: Pick<Image, 'layers'>): Map<string, TarEntry> {
  const files = new Map<string, TarEntry>();
  for (const layer of image.layers) for (const entry of readTar(layer)) files.set(entry.path, entry);
  return files;
}

/**
 * Writes the image as one archive that containerd, `docker load`, skopeo and buildah read (OCI layout and
 * docker archive in one). `cache` keeps compressed layers: Node's takes seconds.
 */
export async function writeImage(image: Image, out: string, cache: string): Promise<Written> {
  const layers = await Promise.all(image.layers.map((layer) => compressed(layer, cache)));
  const config = canonicalJson({
    architecture: image.architecture,
    os: 'linux',
    created: image.created,
    config: image.config,
    rootfs: { type: 'layers', diff_ids: image.layers.map((layer) => `sha256:${sha256(layer)}`) },
    history: image.layers.map(() => ({ created: image.created, created_by: 'charts/image' })),
  });
  const manifest = canonicalJson({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: layers.map((layer) => descriptor('application/vnd.oci.image.layer.v1.tar+gzip', layer)),
  });
  const index = canonicalJson({
    schemaVersion: 2,
    manifests: [
      {
        ...descriptor('application/vnd.oci.image.manifest.v1+json', manifest),
        annotations: {
          'io.containerd.image.name': fullName(image.reference),
          'org.opencontainers.image.ref.name': image.reference.slice(image.reference.lastIndexOf(':') + 1),
        },
      },
    ],
  });
  const blob = (data: Buffer) => `blobs/sha256/${sha256(data)}`;
  const docker = canonicalJson([
    { Config: blob(config), RepoTags: [image.reference], Layers: layers.map(blob) },
  ]);
  const file = (path: string, data: Buffer): TarEntry => ({
    ...{ path, data, type: 'file', mode: 0o644, target: '' },
  });
  const blobs = new Map([...layers, config, manifest].map((data) => [blob(data), data]));
  const archive = writeTar([
    file('oci-layout', canonicalJson({ imageLayoutVersion: '1.0.0' })),
    file('index.json', index),
    file('manifest.json', docker),
    ...[...blobs].map(([path, data]) => file(path, data)),
  ]);
  writeWhole(out, archive);
  return {
    reference: image.reference,
    digest: `sha256:${sha256(manifest)}`,
    compressedBytes: layers.reduce((sum, layer) => sum + layer.length, 0),
    layers: layers.map((layer) => ({ digest: `sha256:${sha256(layer)}`, bytes: layer.length })),
  };
}

/** The name of an image without a registry in containerd and the kubelet. */
function fullName(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  if (rest.length === 0) return `docker.io/library/${reference}`;
  return /[.:]|^localhost$/.test(first) ? reference : `docker.io/${reference}`;
}

const descriptor = (mediaType: string, data: Buffer) => ({
  mediaType,
  digest: `sha256:${sha256(data)}`,
  size: data.length,
});

const gzipAsync = promisify(gzip);

/** The layer as gzip. The bytes depend on zlib too, so its version is part of the cached name. */
async function compressed(layer: Buffer, cache: string): Promise<Buffer> {
  const file = join(cache, `${sha256(layer)}-zlib-${process.versions.zlib}.gz`);
  if (existsSync(file)) return readFileSync(file);
  const data = await gzipAsync(layer, { level: 9 });
  writeWhole(file, data);
  return data;
}

/** Writes a file atomically: it appears under its name when it is complete. */
export function writeWhole(file: string, data: Buffer | string): void {
  mkdirSync(dirname(file), { recursive: true });
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, data);
  renameSync(fresh, file);
}
