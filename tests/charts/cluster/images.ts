import { keptImage, settingsOf, type Which } from '../image/kept.ts';
import type { Cluster } from './cluster.ts';

/** An image that the node knows. */
export interface LoadedImage {
  readonly repository: string;
  readonly tag: string;
  readonly digest: string;
  readonly compressedBytes: number;
}

/** Builds an image by the project's script, unless an earlier test has built it, and loads it into the cluster. */
export async function loadImage(cluster: Cluster, which: Which): Promise<LoadedImage> {
  const settings = settingsOf(which);
  const { digest, compressedBytes } = await keptImage(settings);
  await cluster.load(settings.out);
  const [repository = '', tag = ''] = settings.reference.split(':');
  return { repository, tag, digest, compressedBytes };
}
