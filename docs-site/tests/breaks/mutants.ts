import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parse } from '@babel/parser';
import { isTimeOver, keptResults, runTests } from './results.ts';

/**
 * Shows that no unit or server test is empty: each function of the site is emptied in turn in a copy of the sources
 * (where a test judges texts, a text is changed), and each test must fail under at least one of these mutants. Ends with
 * the tests that never failed; arguments choose test files. What was found is kept, so that a run that was ended
 * (`MINUTES`) goes on where it was.
 */
const chosen = process.argv.slice(2);
const root = resolve(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'site-mutants-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
const site = join(copy, 'docs-site');
const left = ['node_modules', 'dist', 'public', '.cache'].map((name) => join(root, name));
cpSync(root, site, { recursive: true, filter: (one) => !left.some((path) => one.startsWith(path)) });
for (const folder of ['gateway', 'services', 'proto', 'node_modules']) {
  symlinkSync(resolve(root, '..', folder), join(copy, folder));
}
for (const folder of ['node_modules', 'dist']) symlinkSync(join(root, folder), join(site, folder));

interface Mutant {
  readonly file: string;
  readonly from: number;
  readonly to: number;
  /** What stands there instead; an emptied function without it. */
  readonly text?: string;
  /** The only tests that it is for: others would fail in what they prepare. */
  readonly readers?: readonly string[];
}

/** Tests that judge the text of sources, or a table, do not see an emptied function. */
const textMutants: readonly Mutant[] = [
  { file: 'src/pages/index.tsx', from: 0, to: 0, text: '// graphql\n', readers: ['unit/dist.test.ts'] },
  { file: 'src/pages/index.tsx', from: 0, to: 0, text: 'ja.none.back;\n', readers: ['unit/strings.test.ts'] },
  {
    file: 'tests/unit/search-queries.ts',
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
    text: 'export const queries = [];\n',
    readers: ['unit/search.test.ts'],
  },
];

/** The bodies of all functions of a file, those inside others included. */
function bodiesOf(file: string): Mutant[] {
  const source = readFileSync(join(site, file), 'utf8');
  const found: Mutant[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type = '', body } = node as { type?: string; body?: { start: number; end: number } };
    if (/^(?:Arrow)?Function|^ObjectMethod$|^ClassMethod$/.test(type) && body)
      found.push({ file, from: body.start, to: body.end });
    Object.values(node).forEach(visit);
  };
  visit(
    parse(source, {
      sourceType: 'module',
      plugins: ['typescript', ...(file.endsWith('x') ? (['jsx'] as const) : [])],
    }).program,
  );
  return found;
}

/** A mutant may never end. */
const timeoutMs = 120_000;
const results = keptResults<Readonly<Record<string, readonly string[]>>>('mutants', [
  '{build,server,src}/**/*.{ts,tsx,css}',
  'tests/{unit,server}/*',
  '../gateway/openapi/*.yaml',
]);
const testFiles = globSync('tests/{unit,server}/*.test.ts', { cwd: site })
  .map((file) => file.slice('tests/'.length))
  // It starts what the build made of the sources.
  .filter((file) => file !== 'server/bundle.test.ts')
  .filter((file) => chosen.length === 0 || chosen.some((part) => file.includes(part)))
  .sort();

/** Always the same order, with neighbours far from each other. */
function shuffled<T>(all: readonly T[]): T[] {
  let state = 7;
  return all
    .map((one) => {
      state = (state * 48_271) % 2_147_483_647;
      return [state, one] as const;
    })
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

const suffixes = ['', '.ts', '.tsx', '/index.ts', '/index.tsx'];

/** The sources that a test file can run: what it names in any string, as a path from itself or the site, and so on. */
function reachOf(test: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const follow = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(/['"`]([\w./-]+)['"`]/g)) {
      for (const from of [dirname(path), site, join(site, 'src')]) {
        const found = suffixes.map((suffix) => join(from, name) + suffix).find((one) => sourcePaths.has(one));
        if (found) follow(found);
      }
    }
  };
  follow(join(site, 'tests', test));
  return reached;
}

const sources = globSync('{build,server,src}/**/*.{ts,tsx}', { cwd: site }).filter(
  (file) => !file.endsWith('.d.ts'),
);
const sourcePaths = new Set([
  ...sources.map((file) => join(site, file)),
  ...globSync('tests/{unit,support}/*.ts', { cwd: site }).map((file) => join(site, file)),
]);

let unseen: Readonly<Record<string, readonly string[]>> = {};
const count = () => Object.values(unseen).flat().length;

for (const file of testFiles) {
  let passed = results.get(file)?.['passed'];
  if (!passed) {
    const outcome = await runTests(site, [file], [], { timeoutMs });
    if (outcome.failed.length > 0 || outcome.passed.length === 0)
      throw new Error(`This fails without a mutant:\n${outcome.output}`);
    passed = outcome.passed;
    results.put(file, { passed });
  }
  unseen = { ...unseen, [file]: passed };
}
const tests = count();
process.stdout.write(`${tests} tests pass without a mutant\n`);

const reach = new Map(testFiles.map((one) => [one, reachOf(one)]));
let tried = 0;
let isWhole = true;
for (const { file, from, to, text, readers } of [
  ...textMutants,
  ...shuffled(sources.sort().flatMap(bodiesOf)),
]) {
  if (count() === 0) break;
  const path = join(site, file);
  const source = readFileSync(path, 'utf8');
  const piece = `${file}:${source.slice(0, from).split('\n').length}:${from}${text?.trim() ?? ''}`;
  let failed = results.get(piece);
  if (!failed) {
    const files = Object.keys(unseen).filter(
      (one) =>
        (unseen[one]?.length ?? 0) > 0 && (readers ? readers.includes(one) : reach.get(one)?.has(path)),
    );
    if (files.length === 0) continue;
    if (isTimeOver()) {
      isWhole = false;
      break;
    }
    const body = source.slice(from, to);
    const changed = text ?? (body.startsWith('{') ? '{}' : '(undefined as never)');
    writeFileSync(path, source.slice(0, from) + changed + source.slice(to));
    const names = [...new Set(files.flatMap((one) => unseen[one] ?? []))];
    const { failed: all } = await runTests(site, files, names, { timeoutMs });
    writeFileSync(path, source);
    // A file that cannot be loaded, or does not end, fails as a whole: that shows nothing of a single test.
    failed = Object.fromEntries(
      files.map((one) => [one, (unseen[one] ?? []).filter((name) => all.includes(name))]),
    );
    results.put(piece, failed);
  }
  tried++;
  const before = count();
  const found = failed;
  unseen = Object.fromEntries(
    Object.entries(unseen).map(([one, names]) => [one, names.filter((name) => !found[one]?.includes(name))]),
  );
  if (count() < before) process.stdout.write(`  ${piece}: ${before - count()} of ${before} fail\n`);
}
for (const [file, names] of Object.entries(unseen))
  for (const name of names)
    process.stdout.write(`  ${isWhole ? 'NEVER FAILED' : 'not yet failed'} ${file}: ${name}\n`);
process.stdout.write(
  `${tests} tests, ${tried} mutants, ${count()} ${isWhole ? 'never seen to fail' : 'not yet seen to fail; the next run goes on here'}\n`,
);
process.exitCode = isWhole && count() === 0 ? 0 : 1;
