import type { Builder } from './builder.ts';

/** What Skaffold asks of a custom builder (skaffold.dev, Custom Build Script). */
export interface Asked {
  /** `name:tag`. */
  readonly reference: string;
  /** Into the registry that the name says; otherwise into docker, where Skaffold looks for it. */
  readonly push: boolean;
}

/** Reads IMAGE, PUSH_IMAGE and PLATFORMS. Throws where this machine cannot make what is asked. */
export function readAsked(env: Readonly<Record<string, string | undefined>>): Asked {
  const reference = env['IMAGE'];
  if (!reference)
    throw new Error('IMAGE is not set: Skaffold gives it. By hand it is `make image TAG=… OUT=…`.');
  const own = `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const platforms = env['PLATFORMS'] || own;
  if (platforms !== own)
    throw new Error(`PLATFORMS: ${platforms} is asked for, and this machine makes images of ${own} only.`);
  return { reference, push: env['PUSH_IMAGE'] === 'true' };
}

/** Brings the image of an archive to where Skaffold looks for it. */
export function bring(archive: string, { reference, push }: Asked, builder: Builder): void {
  if (push) {
    builder.push(archive, reference);
    return;
  }
  if (builder.name !== 'docker')
    throw new Error(
      "Skaffold looks for local images in docker, whose daemon does not answer here. Start it, or let the cluster's own loader take the archives of `make image` and go on with `skaffold deploy --images` (docs/operations.md).",
    );
  builder.load(archive);
}
