import { spawn } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { instrument, type Mutant } from './instrument.ts';
import { isTimeOver, runTests } from './results.ts';
import { keepOnly, put, unseenOf } from './seen.ts';

/**
 * Shows that no unit or server test is empty: each test that `seen.json` does not name as it is today must fail under a
 * mutant of the site's sources (`instrument.ts`), or of a text where it judges texts. Ends with the tests that never
 * failed; arguments choose test files.
 */
const chosen = process.argv.slice(2);
const root = resolve(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'site-mutants-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
const site = join(copy, 'docs-site');
const left = ['node_modules', 'dist', 'public', '.cache'].map((name) => join(root, name));
cpSync(root, site, {
  recursive: true,
  filter: (one) => !left.includes(one) && !/\/dist-[^/]*$/.test(one),
});
for (const folder of ['gateway', 'services', 'proto', 'node_modules'])
  symlinkSync(resolve(root, '..', folder), join(copy, folder));
for (const folder of ['node_modules', 'dist']) symlinkSync(join(root, folder), join(site, folder));

const mutants: Mutant[] = [];
for (const file of globSync('{build,server,src}/**/*.{ts,tsx}', { cwd: site }).sort()) {
  if (file.endsWith('.d.ts')) continue;
  const path = join(site, file);
  writeFileSync(path, instrument(file, readFileSync(path, 'utf8'), mutants));
}

writeFileSync(join(copy, 'mutants.json'), JSON.stringify(mutants));

interface Told {
  readonly name?: string;
  readonly end?: string;
  readonly unfit?: string;
  readonly id?: number;
  readonly thrown?: boolean;
  readonly trying?: number;
}

/** Without a word for this long, a mutant never ends. */
const silenceMs = 90_000;

/** Runs the harness over a file; gives the mutant that never ended, if there was one. */
async function harness(
  file: string,
  input: Record<string, unknown>,
  hear: (told: Told) => void,
): Promise<number | undefined> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', join(import.meta.dirname, 'harness.ts')],
    {
      cwd: site,
      detached: true,
      stdio: ['ignore', 'pipe', process.env['HARNESS_DEBUG'] ? 'inherit' : 'ignore'],
      env: { ...process.env, HARNESS: JSON.stringify({ file, site, skip: [], ...input }) },
    },
  );
  let trying: number | undefined;
  let isEnded = false;
  const end = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const tooLong = () => {
    isEnded = true;
    end();
  };
  process.once('exit', end);
  let timer = setTimeout(tooLong, silenceMs);
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith('\u0001')) continue;
    const told = JSON.parse(line.slice(1)) as Told;
    clearTimeout(timer);
    timer = setTimeout(tooLong, silenceMs);
    if (told.trying !== undefined) trying = told.trying;
    else hear(told);
  }
  clearTimeout(timer);
  end();
  process.removeListener('exit', end);
  return isEnded ? trying : undefined;
}

const unseen = new Map<string, readonly string[]>();
let tests = 0;
let isWhole = true;
const take = (file: string, name: string, by: string): void => {
  put(file, [name], by);
  unseen.set(
    file,
    (unseen.get(file) ?? []).filter((one) => one !== name),
  );
};

async function judge(file: string): Promise<void> {
  const begun = Date.now();
  const names: string[] = [];
  await harness(file, { passed: true }, ({ name, end }) => {
    if (name && end === 'passed') names.push(name);
    else if (name) throw new Error(`${file}: "${name}" fails without a mutant: run it by "make site-test"`);
  });
  if (names.length === 0) throw new Error(`${file} has no tests`);
  tests += names.length;
  keepOnly(file, names);
  unseen.set(file, unseenOf(file, names));
  const first = unseen.get(file)?.length ?? 0;
  const skip: number[] = [];
  for (;;) {
    const open = unseen.get(file) ?? [];
    if (open.length === 0) break;
    const endless = await harness(file, { open, skip }, ({ name, id, unfit }) => {
      if (unfit) process.stdout.write(`  ${file}: "${name}" does not pass here (${unfit})\n`);
      const mutant = id === undefined ? undefined : mutants[id];
      if (name && mutant) take(file, name, `${mutant.kind} ${mutant.file}:${mutant.line}`);
    });
    if (endless === undefined) break;
    skip.push(endless);
  }
  process.stdout.write(
    `  ${file}: ${names.length} tests, ${first} to be seen to fail, ${unseen.get(file)?.length} left (${Math.round((Date.now() - begun) / 1000)} s)\n`,
  );
}

interface TextMutant {
  readonly file: string;
  readonly change: (text: string) => string;
  /** The only test file that it is for: others would fail in what they prepare. */
  readonly reader: string;
}

/** Tests that judge the text of sources, a table, or what the build made, see no switch. */
const textMutants: readonly TextMutant[] = [
  {
    file: 'src/pages/index.tsx',
    change: (text) => `// graphql\n${text}`,
    reader: 'unit/dist.test.ts',
  },
  {
    file: 'src/pages/index.tsx',
    change: (text) => `ja.none.back;\n${text}`,
    reader: 'unit/strings.test.ts',
  },
  {
    file: 'tests/unit/search-queries.ts',
    change: () => 'export const queries = [];\n',
    reader: 'unit/search.test.ts',
  },
  {
    file: 'src/reference/samples.ts',
    change: (text) =>
      text
        .replace("'    timeout=30,'", "'    timeout=0,'")
        .replace("'{{integratorUrl}}'", 'exampleDestination'),
    reader: 'unit/api-samples.test.ts',
  },
  {
    file: 'src/reference/related.ts',
    change: (text) => text.replace("'(uri)'", "'(none)'"),
    reader: 'unit/api-samples.test.ts',
  },
  {
    file: 'src/reference/related.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text.
    change: (text) => text.replace(/`\$\{base\}#\$\{id\}`/g, () => '`${base}#no-${id}`'),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/index.tsx',
    change: (text) =>
      text.replace(
        '<div className="api">',
        '<div className="api" id="a b" style={{ color: \'red\' }}>{Array.from({ length: 30_000 }, (_, one) => <i key={one} />)}',
      ),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/twin.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text.
    change: (text) => text.replace(/\*\*\$\{answer\.status\}\*\*/, () => '${answer.status}'),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/related.ts',
    change: (text) => text.replace("text.replace(joinedText, '$1$2')", 'text'),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/twin.ts',
    change: (text) => text.replace(/ \{#\$\{operation\.id\}\}/, () => ''),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/describe.ts',
    change: (text) =>
      // biome-ignore lint/suspicious/noTemplateCurlyInString: source text.
      text.replace(/`\$\{input\.route\}#\$\{anchor\}`/, () => '`${input.route}#no-${anchor}`'),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'build/guides.ts',
    change: (text) => text.replace("tag.startsWith('</') ? ''", "tag.startsWith('</') ? tag"),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'build/guide-rules.ts',
    change: (text) => text.replace('  Cards: {},', '  Cards: {}, Seeded: {},'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'build/guides.ts',
    change: (text) => text.replace('drafts || !one.data.draft', 'true'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'build/site.ts',
    change: (text) =>
      text.replace('const order = guides.filter((one) => !one.data.unlisted);', 'const order = guides;'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'src/strings/ja.ts',
    change: (text) => text.replace('アーカイブ', '別の語'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'src/reference/describe.ts',
    change: (text) => text.replace(/sidebar: sidebar\.filter\(.*\),/, 'sidebar: [],'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'src/search/analyse.ts',
    change: (text) => text.replace("'NFKC'", "'NFC'"),
    reader: 'unit/search.test.ts',
  },
  {
    file: 'server/settings.ts',
    change: (text) => text.replace('is no number of milliseconds', 'is wrong:'),
    reader: 'server/server.test.ts',
  },
  {
    file: 'dist/server.mjs',
    change: (text) => text.replaceAll('SIGTERM', 'SIGUSR2'),
    reader: 'server/bundle.test.ts',
  },
  {
    file: 'dist/server.mjs',
    change: (text) => text.replaceAll('STOP_GRACE_MS', 'STOP_AFTER_MS'),
    reader: 'server/bundle.test.ts',
  },
];

async function judgeTexts({ file, change, reader }: TextMutant): Promise<void> {
  const open = unseen.get(reader) ?? [];
  if (open.length === 0) return;
  const path = join(site, file);
  if (file.startsWith('dist/')) {
    rmSync(join(site, 'dist'), { recursive: true });
    cpSync(realpathSync(join(root, 'dist')), join(site, 'dist'), { recursive: true });
  }
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, change(text));
  const { failed } = await runTests(site, [reader], open, { timeoutMs: 120_000 });
  writeFileSync(path, text);
  for (const name of open.filter((one) => failed.includes(one))) take(reader, name, `text ${file}`);
}

const files = globSync('tests/{unit,server}/*.test.ts', { cwd: root })
  .map((file) => file.slice('tests/'.length))
  .filter((file) => chosen.length === 0 || chosen.some((part) => file.includes(part)))
  .sort();
const waiting = [...files];
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (isTimeOver()) {
        isWhole = false;
        return;
      }
      await judge(file);
    }
  }),
);
for (const one of textMutants) await judgeTexts(one);
for (const [file, names] of unseen)
  for (const name of names) process.stdout.write(`  NEVER FAILED ${file}: ${name}\n`);
const never = [...unseen.values()].flat().length;
process.stdout.write(
  `${tests} tests, ${mutants.length} mutants, ${never} never seen to fail${isWhole ? '' : '; not all files were tried'}\n`,
);
process.exitCode = isWhole && never === 0 ? 0 : 1;
