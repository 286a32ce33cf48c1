import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { makeImage, readSettings } from '../../../charts/image/make.ts';
import { sourcesOf } from '../../support/sources.ts';
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

/**
 * Makes an image by the project's own script and loads it into the cluster. One archive of each kind is kept,
 * and taken again for the same sources if nothing in the work tree was changed.
 */
export async function loadImage(cluster: Cluster, which: Which): Promise<LoadedImage> {
  const before = typeof which === 'object';
  const own = readSettings({});
  const today = own.version.revision.slice(0, 12);
  // An earlier commit's sources are staged by today's script.
  const tag = before ? `${which.commit.slice(0, 12)}-staged-by-${today}` : today;
  const out = join(root, '.cache/image', `cluster-${before ? 'before' : which}.tar`);
  const settings = readSettings({
    TAG: tag,
    OUT: out,
    ...(which === 'test' && { TEST: '1' }),
    ...(before && {
      SOURCE: sourcesOf(which.commit),
      REVISION: which.commit,
      SOURCE_DATE_EPOCH: String(which.secondsSince1970),
    }),
  });
  const kept = existsSync(`${out}.json`) ? JSON.parse(readFileSync(`${out}.json`, 'utf8')) : undefined;
  const clean = own.version.revision !== '' && !own.version.revision.endsWith('-dirty');
  const made =
    clean && kept?.reference === settings.reference && existsSync(out)
      ? kept
      : await makeImage(settings, () => {});
  await cluster.load(out);
  const [repository = ''] = settings.reference.split(':');
  return { repository, tag, digest: made.digest, compressedBytes: made.compressedBytes };
}
