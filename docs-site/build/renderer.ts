import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

type Renderer = typeof import('../src/render.tsx');

/** Bundles src/render.tsx for Node and loads it: Node strips types, but knows no JSX. */
export async function loadRenderer(root: string): Promise<Renderer> {
  const folder = join(root, 'node_modules/.cache/docs-site');
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `render-${process.pid}-${Date.now()}.mjs`);
  await build({
    entryPoints: [join(root, 'src/render.tsx')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    jsx: 'automatic',
    logLevel: 'silent',
  });
  return (await import(pathToFileURL(outfile).href)) as Renderer;
}
