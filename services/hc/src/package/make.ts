import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type Metafile } from 'esbuild';

const home = join(import.meta.dirname, '../..');
const root = join(home, '../..');
/** Oldest Node.js version that can run the package. The package uses no newer feature. */
const oldestNode = 22;

/**
 * Builds hc as a separate npm package for integrators, who do not have this repository: JavaScript without
 * dependencies, for Node.js 22 and newer. Creates `folder`. Resolves with the path of the archive. Rejects when npm or
 * the bundler fails.
 */
export async function makePackage(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'hc-package-'));
  try {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: [{ in: join(home, 'src/main.ts'), out: 'hc' }],
      outdir: join(work, 'dist'),
      outExtension: { '.js': '.mjs' },
      bundle: true,
      // The parts are loaded after main.ts has enabled the compile cache.
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: `node${oldestNode}`,
      banner: { js: '#!/usr/bin/env node' },
      legalComments: 'none',
      metafile: true,
      logLevel: 'silent',
    });
    writeFileSync(join(work, 'LICENSES-OF-PARTS.txt'), licencesOf(metafile));
    cpSync(join(root, 'LICENSE'), join(work, 'LICENSE'));
    cpSync(join(import.meta.dirname, 'README.md'), join(work, 'README.md'));
    const { name, version, license } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
    const manifest = {
      ...{ name, version, license, type: 'module', bin: { hc: 'dist/hc.mjs' } },
      description: 'Headset Cloud for integrators: callbacks on your machine, deliveries, test callbacks',
      engines: { node: `>=${oldestNode}` },
      files: ['dist', 'LICENSES-OF-PARTS.txt'],
    };
    writeFileSync(join(work, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    const packing = promisify(execFile)('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: work,
    });
    const [packed] = JSON.parse((await packing).stdout) as { filename: string }[];
    if (!packed) throw new Error('npm pack made no archive');
    return join(folder, packed.filename);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The licences of other packages in the bundle. */
function licencesOf({ inputs }: Metafile): string {
  const names = Object.keys(inputs).flatMap(
    (path) => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  );
  return [...new Set(names)]
    .map((name) => `${name}\n\n${readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8')}`)
    .join('\n\n');
}
