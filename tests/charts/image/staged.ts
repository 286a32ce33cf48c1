import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';
import { ownBaseArchive, readSettings, root } from '../../../charts/image/make.ts';

/** All files below a folder, by their paths in it. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Missing tools for making images; undefined if nothing is missing. */
export function missingForImages(): string | undefined {
  if (!findProgram('buildah')) {
    if (!findProgram('docker')) return 'buildah, docker not on PATH: one of them builds images';
    if (spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 20_000 }).status !== 0)
      return 'buildah not on PATH, and the daemon of docker does not answer';
  }
  if (!findProgram('mmdebstrap') && !existsSync(ownBaseArchive(join(root, '.cache/image'))))
    return 'mmdebstrap not on PATH';
  return undefined;
}

export const settingsFor = (env: Record<string, string>) => readSettings({ TAG: 'test', ...env });

/** Names of programs that an image without a shell must not contain. */
export const shells =
  /(^|\/)(a|ba|da|k|z|c|tc|fi)?sh$|(^|\/)(busybox|toybox|perl[\d.]*|python[\d.]*|awk|mawk|env)$/;
