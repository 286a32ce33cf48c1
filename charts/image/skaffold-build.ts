import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Builder } from './builder.ts';
import { run } from './builder.ts';

/** Request of Skaffold to a custom builder (skaffold.dev, Custom Build Script). */
export interface Asked {
  /** `name:tag`. */
  readonly reference: string;
  /** True: push to the registry in the name; false: load into docker, where Skaffold reads it. */
  readonly push: boolean;
  /** A shell command that loads an archive into the cluster's nodes; the archive is its last argument. */
  readonly loader?: string | undefined;
}

/** Reads IMAGE, PUSH_IMAGE, PLATFORMS and HEADSET_IMAGE_LOAD. Throws if this machine cannot build the request. */
export function readAsked(env: Readonly<Record<string, string | undefined>>): Asked {
  const reference = env['IMAGE'];
  if (!reference)
    throw new Error('IMAGE is not set: Skaffold gives it. By hand it is `make image TAG=… OUT=…`.');
  const own = `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const platforms = env['PLATFORMS'] || own;
  if (platforms !== own)
    throw new Error(`PLATFORMS: ${platforms} is asked for, and this machine makes images of ${own} only.`);
  return { reference, push: env['PUSH_IMAGE'] === 'true', loader: env['HEADSET_IMAGE_LOAD'] || undefined };
}

/**
 * Puts the image of an archive where Skaffold reads it, and into the cluster if there is a loader for it:
 * Skaffold itself loads images into kind, k3d and minikube only.
 */
export function bring(archive: string, { reference, push, loader }: Asked, builder: Builder): void {
  if (push) {
    builder.push(archive, reference);
    return;
  }
  if (!builder.saveById)
    throw new Error(
      'Skaffold looks for local images in docker, whose daemon does not answer here. Start docker, or load the archives of `make image` into the cluster and run `skaffold deploy --images` (docs/operations/trial.md).',
    );
  builder.load(archive);
  if (!loader) return;
  const work = mkdtempSync(join(tmpdir(), 'headset-cloud-load-'));
  try {
    const named = join(work, 'image.tar');
    // Skaffold has pods run the image by its id.
    builder.saveById(reference, named);
    run('sh', ['-c', `${loader} "$0"`, named]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
