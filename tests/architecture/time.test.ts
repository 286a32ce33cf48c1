import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, sources } from './imports.ts';

/**
 * Tests outside `tests/bench` must not depend on the machine's speed: they take time from a fake
 * (`@headset-cloud/runtime/testing/fake-time.ts`), and product code takes it from the port `Time`
 * (`@headset-cloud/runtime/clock.ts`).
 */
const inTests =
  /performance\.now|Date\.now\(\)(?: \/ \d+)? -|- Date\.now\(\)|(?<!(?:jest|time)\.)\bsetTimeout\b|(?<!time\.)\bsetInterval\b|timers\/promises|memoryUsage|hrtime/g;
const inProduct = /performance\.now|Date\.now\b|(?<!\.)\bset(?:Timeout|Interval)\(|timers\/promises/g;

/** Files that break a rule today, each with its number of matches. The lists only get shorter. */
const exceptions: Record<'tests' | 'product', Record<string, number>> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'time-exceptions.json'), 'utf8'),
);

const isTest = (file: string) => file.endsWith('.test.ts');
const all = ['services', 'gateway', 'proto', 'tests', 'docs-site/tests', 'docs-site/src'].flatMap(sources);
const testFiles = all.filter((file) => isTest(file) && !/^tests\/(?:bench|architecture\/time)/.test(file));
const productFiles = all.filter(
  (file) =>
    /^(?:services|gateway)\//.test(file) &&
    !isTest(file) &&
    !file.includes('/testing/') &&
    file !== 'services/kit/runtime/src/clock.ts',
);

function countMatches(files: readonly string[], pattern: RegExp): Record<string, number> {
  const counts = files.map((file) => {
    const text = readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    return [file, text.match(pattern)?.length ?? 0] as const;
  });
  return Object.fromEntries(counts.filter(([, count]) => count > 0).sort());
}

it.each([
  ['no test reads clocks, sleeps or reads process memory', 'tests', testFiles, inTests],
  ['product code takes time from the port', 'product', productFiles, inProduct],
] as const)('%s', (_, kind, files, pattern) => {
  const counts = countMatches(files, pattern);
  // After an improvement, remove the file from time-exceptions.json or lower its number.
  expect(counts).toEqual(exceptions[kind]);
});

it.each([
  'const began = performance.now();',
  'expect(Date.now() - began).toBeLessThan(5);',
  'await new Promise((done) => setTimeout(done, 20));',
  "import { setTimeout as delay } from 'node:timers/promises';",
  'process.memoryUsage().rss',
])('%s is recognised in tests', (line) => {
  expect(line).toMatch(new RegExp(inTests.source));
});

it.each(['jest.setTimeout(60_000);', 'startedAtMs: before(60_000),', 'const from = Date.now();'])(
  '%s is not',
  (line) => {
    expect(line).not.toMatch(new RegExp(inTests.source));
  },
);
