import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

export interface Import {
  /** The importing file, relative to the root. */
  readonly file: string;
  /** The import's target: a package, or a file relative to the root. */
  readonly target: string;
}

/** All TypeScript files below a folder, without dependencies and generated code. */
export function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile() && e.name.endsWith('.ts'))
    .map((e) => relative(root, join(e.parentPath, e.name)))
    .filter((f) => !/(^|\/)(node_modules|gen)\//.test(f));
}

/** The imports of a file, static or dynamic, including types. */
export function importsOf(file: string, text = readFileSync(join(root, file), 'utf8')): Import[] {
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g,
  );
  return [...found].map((m) => {
    const target = m[1] ?? m[2] ?? m[3] ?? '';
    return {
      file,
      target: target.startsWith('.') ? relative(root, join(root, file, '..', target)) : target,
    };
  });
}

/** The file of a target; a package's name is returned unchanged. */
function fileOf(target: string): string {
  const [, name, path] = /^@headset-cloud\/([^/]+)\/(.+)$/.exec(target) ?? [];
  if (!name) return target;
  return name === 'gateway' ? `gateway/src/${path}` : `services/${name}/src/${path}`;
}

/** Files that are part of an import cycle, or lie between two cycles. */
export function inCircles(imports: readonly Import[]): string[] {
  let edges = imports.map(({ file, target }) => [file, fileOf(target)] as const);
  for (;;) {
    const from = new Set(edges.map(([file]) => file));
    const to = new Set(edges.map(([, target]) => target));
    const left = edges.filter(([file, target]) => to.has(file) && from.has(target));
    if (left.length === edges.length) return [...from].sort();
    edges = left;
  }
}
