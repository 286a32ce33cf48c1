import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { makeImage, readSettings } from '../../../charts/image/make.ts';
import { treeOf } from '../../support/sources.ts';
import type { Cluster } from './cluster.ts';

/** An image that the node knows. */
export interface LoadedImage {
  readonly repository: string;
  readonly tag: string;
  readonly digest: string;
  readonly compressedBytes: number;
}

/** The platform's image, the same with simulators and trial issuer, or the platform's of an earlier commit. */
export type Which = 'platform' | 'test' | { readonly commit: string; readonly secondsSince1970: number };

/** What an image is made of. */
const sources = ['package.json', 'package-lock.json', 'proto', 'gateway', 'services', 'charts/image'];

/** A text that changes with the sources; undefined where git does not know them, or not as they are. */
function sourcesKey(): string | undefined {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
  try {
    if (git('status', '--porcelain', '--', ...sources) !== '') return undefined;
    return createHash('sha256')
      .update(git('ls-tree', 'HEAD', ...sources))
      .digest('hex')
      .slice(0, 12);
  } catch {
    return undefined;
  }
}

/**
 * Makes an image by the project's own script and loads it into the cluster. One archive of each kind is kept,
 * and taken again for the same sources.
 */
export async function loadImage(cluster: Cluster, which: Which): Promise<LoadedImage> {
  const before = typeof which === 'object';
  const key = sourcesKey();
  const today = key ?? `changed-${randomBytes(4).toString('hex')}`;
  const out = join(root, '.cache/image', `cluster-${before ? 'before' : which}.tar`);
  const settings = readSettings({
    // An earlier commit's sources are staged by today's script.
    TAG: before ? `${which.commit.slice(0, 12)}-staged-by-${today}` : today,
    OUT: out,
    ...(which === 'test' && { TEST: '1' }),
    ...(before && {
      SOURCE: treeOf(which.commit),
      REVISION: which.commit,
      SOURCE_DATE_EPOCH: String(which.secondsSince1970),
    }),
  });
  const kept = existsSync(`${out}.json`) ? JSON.parse(readFileSync(`${out}.json`, 'utf8')) : undefined;
  const again = key !== undefined && kept?.reference === settings.reference && existsSync(out);
  const made = again ? kept : await makeImage(settings, () => {});
  await cluster.load(out);
  const [repository = '', tag = ''] = settings.reference.split(':');
  return { repository, tag, digest: made.digest, compressedBytes: made.compressedBytes };
}
