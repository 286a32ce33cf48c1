import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Manifest } from '../../server/manifest.ts';
import { dist } from '../support/site.ts';
import { type Break, breaks } from './breaks.ts';

/**
 * Shows that no check in Chromium is empty: the checks run against the built site with one seeded break at a time, and
 * each must fail under at least one. Ends with the checks that never failed; arguments choose test files.
 */
const chosen = process.argv.slice(2);
const binary = /\.(?:png|jpg|webp|ico|woff2|br|gz)$/;

/** A copy of the built site with the break's changes, compressed anew. */
function brokenSite({ change }: Break): string {
  const folder = mkdtempSync(join(tmpdir(), 'site-break-'));
  cpSync(realpathSync(dist), folder, { recursive: true });
  if (!change) return folder;
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'server.json'), 'utf8'));
  for (const file of Object.keys(manifest.etags).filter((one) => !binary.test(one))) {
    const path = join(folder, 'site', file);
    const changed = change(file, readFileSync(path, 'utf8'));
    if (changed === undefined) continue;
    writeFileSync(path, changed);
    writeFileSync(
      `${path}.br`,
      brotliCompressSync(changed, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
    );
    writeFileSync(`${path}.gz`, gzipSync(changed));
  }
  return folder;
}

interface Outcome {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
}

/** Runs the checks of the given names, or all; a name that stands twice counts as one. */
async function run(folder: string, one: Break | undefined, names: readonly string[]): Promise<Outcome> {
  const args = ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', join(import.meta.dirname, '../main.ts')];
  const child = spawn(process.execPath, [...args, ...(chosen.length > 0 ? chosen : ['browser/'])], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      SITE_DIST: folder,
      CHECK_NAMES: JSON.stringify(names),
      ...(one && { CHECK_TIMEOUT_MS: '4000', CHECK_BREAK: JSON.stringify(one) }),
    },
  });
  const lines = (await text(child.stdout)).split('\n');
  const matching = (pattern: RegExp) => lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  return { passed: matching(/^ {2}ok (.*) \(\d+ ms\)$/), failed: matching(/^ {2}FAILED (.*)$/) };
}

const whole = await run(dist, undefined, []);
process.stdout.write(`${whole.passed.length} checks pass without a break, ${whole.failed.length} fail\n`);
if (whole.failed.length > 0) throw new Error(`These fail without a break:\n${whole.failed.join('\n')}`);

let unseen = [...new Set(whole.passed)];
for (const one of breaks) {
  if (unseen.length === 0) break;
  const folder = brokenSite(one);
  const begun = Date.now();
  const { failed } = await run(folder, one, unseen);
  rmSync(folder, { recursive: true, force: true });
  const found = new Set(failed);
  const left = unseen.filter((name) => !found.has(name));
  process.stdout.write(
    `  ${one.name}: ${unseen.length - left.length} of ${unseen.length} fail (${Math.round((Date.now() - begun) / 1000)} s)\n`,
  );
  for (const name of unseen) if (found.has(name)) process.stdout.write(`      ${name}\n`);
  unseen = left;
}
for (const name of unseen) process.stdout.write(`  NEVER FAILED ${name}\n`);
process.stdout.write(`${whole.passed.length} checks, ${unseen.length} never seen to fail\n`);
process.exitCode = unseen.length > 0 ? 1 : 0;
