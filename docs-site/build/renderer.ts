import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

type Renderer = typeof import('../src/render.tsx');

let counter = 0;

/** Bundles a module of src and loads it. Node alone supports neither JSX nor imports without suffix. */
export async function loadModule<T>(root: string, entry: string): Promise<T> {
  const folder = join(root, 'node_modules/.cache/docs-site');
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${basename(entry)}-${process.pid}-${++counter}.mjs`);
  await build({
    entryPoints: [join(root, entry)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    jsx: 'automatic',
    logLevel: 'silent',
  });
  return (await import(pathToFileURL(outfile).href)) as T;
}

export const loadRenderer = (root: string): Promise<Renderer> => loadModule<Renderer>(root, 'src/render.tsx');
