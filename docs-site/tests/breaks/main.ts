import { cpSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Manifest } from '../../server/manifest.ts';
import { dist } from '../support/site.ts';
import { type Break, breaks } from './breaks.ts';
import { isTimeOver, runTests } from './results.ts';
import { breakOf, keepOnly, put, unseenOf } from './seen.ts';

/**
 * Shows that no check in Chromium is empty: the checks that `seen.json` does not name as they are today run against the
 * built site with one seeded break at a time, and each must fail under at least one, which is then written there. Ends
 * with the checks that never failed; arguments choose test files.
 */
const chosen = process.argv.slice(2);
const root = resolve(import.meta.dirname, '../..');
const binary = /\.(?:png|jpg|webp|ico|woff2|br|gz)$/;

/** A copy of the built site with the break's changes, compressed anew. */
function brokenSite({ change, anyInline }: Break): string {
  const folder = mkdtempSync(join(tmpdir(), 'site-break-'));
  cpSync(realpathSync(dist), folder, { recursive: true });
  const told = join(folder, 'server.json');
  const manifest: Manifest = JSON.parse(readFileSync(told, 'utf8'));
  // A style that a break has changed is not refused by its page's policy.
  const inline = Object.entries(manifest.inline).map(([file, { scripts }]) => [
    file,
    { scripts: anyInline ? ["'unsafe-inline'"] : scripts, styles: ["'unsafe-inline'"] },
  ]);
  writeFileSync(told, JSON.stringify({ ...manifest, inline: Object.fromEntries(inline) }));
  if (!change) return folder;
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

/** The longest file without a break takes half of this. */
const timeoutMs = 600_000;
const files = globSync('tests/browser/*.test.ts', { cwd: root })
  .map((file) => file.slice('tests/'.length))
  .filter((file) => chosen.length === 0 || chosen.some((part) => file.includes(part)))
  .sort();
const seconds = (since: number) => Math.round((Date.now() - since) / 1000);

/** Checks that have not failed yet, by file; a name that stands twice in a file counts as one. */
const unseen = new Map<string, readonly string[]>();
let checks = 0;
let isWhole = true;

/** Much of a check's time is waiting: several files run side by side. */
async function sideBySide(all: readonly string[], work: (file: string) => Promise<void>): Promise<void> {
  const waiting = [...all];
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (isTimeOver()) {
        isWhole = false;
        return;
      }
      await work(file);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, worker));
}

await sideBySide(files, async (file) => {
  const listed = await runTests(root, [file], [], { env: { CHECK_LIST: '1' }, timeoutMs });
  const names = [...listed.passed, ...listed.skipped];
  if (names.length === 0) throw new Error(`${file} has no checks:\n${listed.output}`);
  keepOnly(file, names);
  const open = unseenOf(file, names);
  checks += names.length;
  if (open.length > 0) {
    const { passed, failed, slow, output } = await runTests(root, [file], open, { timeoutMs });
    if (failed.length + slow.length > 0 || open.some((name) => !passed.includes(name)))
      throw new Error(`This fails without a break:\n${output}`);
  }
  unseen.set(file, open);
  process.stdout.write(`  ${file}: ${names.length} checks, ${open.length} to be seen to fail\n`);
});

/** Runs the checks under one break; what failed is seen. */
async function tryBreak(one: Break, named: (file: string) => readonly string[]): Promise<void> {
  const open = [...unseen.keys()].filter((file) => named(file).length > 0);
  if (open.length === 0) return;
  const folder = brokenSite(one);
  const patience = { CHECK_TIMEOUT_MS: '4000' };
  const env = { ...patience, SITE_DIST: folder, CHECK_BREAK: JSON.stringify(one) };
  await sideBySide(open, async (file) => {
    const names = named(file);
    const begun = Date.now();
    const outcome = await runTests(root, [file], names, { env, timeoutMs });
    const some = outcome.failed.filter((name) => names.includes(name));
    // A busy machine is not taken for a check that sees something: right afterwards it passes without the break.
    const control =
      some.length > 0 ? await runTests(root, [file], some, { env: patience, timeoutMs }) : undefined;
    const failed = some.filter((name) => control?.passed.includes(name));
    put(file, failed, one.name);
    unseen.set(
      file,
      (unseen.get(file) ?? []).filter((name) => !failed.includes(name)),
    );
    process.stdout.write(
      `  ${file}, ${one.name}: ${failed.length} of ${names.length} fail (${seconds(begun)} s)\n`,
    );
  });
  rmSync(folder, { recursive: true, force: true });
}

const stillUnseen = (file: string): readonly string[] => unseen.get(file) ?? [];
// What made a check fail before its text was changed most likely does so again.
for (const one of breaks)
  await tryBreak(one, (file) => stillUnseen(file).filter((name) => breakOf(file, name) === one.name));
for (const one of breaks) await tryBreak(one, stillUnseen);

const left = [...unseen].flatMap(([file, names]) => names.map((name) => `${file}: ${name}`));
for (const one of left) process.stdout.write(`  ${isWhole ? 'NEVER FAILED' : 'not yet failed'} ${one}\n`);
process.stdout.write(
  `${checks} checks of ${unseen.size} of ${files.length} files, ${left.length} ${isWhole ? 'never seen to fail' : 'not yet seen to fail; the next run goes on here'}\n`,
);
process.exitCode = isWhole && left.length === 0 ? 0 : 1;
