import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { SecretBox } from '@headset-cloud/runtime/secrets.ts';
import { type ArtifactStorage, ObjectChanged } from '../ports/artifact-storage.ts';
import { pathOf } from './signed-urls.ts';

export interface LocalOptions {
  /** Folder of all files. */
  readonly folder: string;
  readonly secrets: SecretBox;
  /** Address of the folder's server, without a trailing slash; called for each signature. */
  readonly publicUrl: () => string;
}

/** Files on this machine, served by local-server.ts. */
export interface LocalStorage extends ArtifactStorage {
  /** Creates the folders; removes partial files of interrupted uploads. */
  prepare(): Promise<void>;
  /**
   * Stores a stream completely or not at all. The file is durable and visible when the promise resolves. Returns its
   * tag.
   */
  write(key: string, content: Readable, sizeBytes: number): Promise<{ readonly tag: string }>;
  /** Path of a stored file. */
  file(key: string): string;
}

/** The stream did not have its declared size. */
export class CutOff extends Error {}

export function createLocalStorage(options: LocalOptions): LocalStorage {
  const { folder, secrets, publicUrl } = options;
  const partial = join(folder, 'partial');
  /** Settles when the last change of a file has ended. */
  let lastChange: Promise<unknown> = Promise.resolve();

  /** Serialises changes of files. Only this process changes the folder. */
  function serialise<T>(change: () => Promise<T>): Promise<T> {
    const result = lastChange.then(change);
    lastChange = result.catch(() => {});
    return result;
  }

  function file(key: string): string {
    if (!/^(uploads|artifacts)\/[0-9a-f][0-9a-f.-]*$/.test(key)) throw new Error('not a key of this service');
    return join(folder, key);
  }

  async function head(key: string) {
    try {
      return { sizeBytes: (await stat(file(key))).size, tag: await tagOf(file(key)) };
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * Creates a hard link to the file and returns its path. The link keeps the content if another upload replaces the
   * file.
   */
  async function pin(key: string, tag: string): Promise<string> {
    const path = join(partial, randomUUID());
    try {
      await link(file(key), path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') throw new ObjectChanged('the file no longer exists');
      throw error;
    }
    if ((await tagOf(path)) === tag) return path;
    await rm(path, { force: true });
    throw new ObjectChanged('the file changed');
  }

  return {
    file,
    head,

    async prepare() {
      await rm(partial, { recursive: true, force: true });
      for (const name of ['partial', 'uploads', 'artifacts']) {
        await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
      }
    },

    async requireAvailable(sizeBytes) {
      const { bavail, bsize } = await statfs(folder);
      if (bavail * bsize < sizeBytes) {
        throw new DomainError('unavailable', 'The storage is full.', { retryAfterMs: 60_000 });
      }
    },

    signUpload: async ({ key, contentType, sizeBytes, startMs, seconds }) =>
      publicUrl() +
      pathOf(secrets, {
        method: 'PUT',
        ...{ key, contentType, sizeBytes },
        expiresAtMs: startMs + seconds * 1000,
      }),

    signDownload: async ({ key, startMs, seconds }) =>
      publicUrl() + pathOf(secrets, { method: 'GET', key, expiresAtMs: startMs + seconds * 1000 }),

    async write(key, content, sizeBytes) {
      const target = file(key);
      const path = join(partial, randomUUID());
      try {
        const stream = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
        await pipeline(content, stream);
        if (stream.bytesWritten !== sizeBytes) throw new CutOff('the upload was cut off');
        const tag = await tagOf(path);
        await serialise(() => rename(path, target));
        await syncFolder(dirname(target));
        return { tag };
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },

    async fetch(key, tag) {
      const path = await pin(key, tag);
      return { path, dispose: () => rm(path, { force: true }) };
    },

    async copyChecked(key, tag, to) {
      // `to` contains the hash of the content. So the rename can only replace an identical file of an earlier run.
      const pinned = await pin(key, tag);
      await rename(pinned, file(to));
      // If both paths are hard links to one file, the rename does nothing, and the first path remains.
      await rm(pinned, { force: true });
      await syncFolder(dirname(file(to)));
    },

    async remove(key) {
      await rm(file(key), { force: true });
    },

    discard: (key, tag) =>
      serialise(async () => {
        if ((await head(key))?.tag === tag) await rm(file(key), { force: true });
      }),
  };
}

async function tagOf(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true });
  return `${ino}-${size}-${mtimeNs}`;
}

/** Makes a rename or link in the folder durable. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
