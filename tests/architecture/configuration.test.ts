import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareConfig } from '@headset-cloud/prepare/config.ts';
import { type ConfigKey, readConfig } from '@headset-cloud/runtime/config.ts';
import { configurationDocument, configurationFile, defaultPorts, parts } from './configuration.ts';
import { root, sources } from './imports.ts';

it('docs/configuration.md lists the settings of the processes (else: make generate)', () => {
  expect(readFileSync(configurationFile, 'utf8')).toBe(configurationDocument());
});

it('no two listeners have the same port by default: one process may have all of them', () => {
  const ports = defaultPorts();
  expect(ports.size).toBeGreaterThan(5);
  expect([...ports].filter(([, keys]) => keys.length > 1)).toEqual([]);
});

const keys = Object.entries(Object.assign({}, prepareConfig, ...parts.map(([, spec]) => spec))) as [
  string,
  ConfigKey<unknown>,
][];

/** The error for a configuration with one key; empty: accepted. */
function refusal(key: string, k: ConfigKey<unknown>, env: Record<string, string>): string {
  try {
    readConfig({ [key]: k }, env);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('each error for a setting shows a valid value', () => {
  it.each(keys)('%s', (key, k) => {
    // Production rejects the documented example of a secret.
    const NODE_ENV = k.secret ? 'test' : 'production';
    expect(refusal(key, k, { [key]: k.example, NODE_ENV })).toBe('');
    const example = `Example: ${key}=${k.example}`;
    expect(refusal(key, k, { [key]: '' })).toContain(example);
    if (k.secret) {
      const missing = refusal(key, k, { [`${key}_FILE`]: '/nonexistent/file' });
      expect(missing).toContain(`Example: ${key}_FILE=/`);
    }
  });

  /** In these files the setting is valid, and a file that it names is not. */
  const exempt = ['services/kit/runtime/src/tls/certificate-files.ts'];

  // A list by hand, because several settings contradict each other.
  it('also errors about several settings', () => {
    const found = ['services', 'gateway/src']
      .flatMap(sources)
      .filter((file) => !/\.test\.ts$|\/testing\/|^services\/demo\//.test(file) && !exempt.includes(file))
      .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const)
      .filter(([, text]) => /new ConfigError\(/.test(text));
    expect(found.length).toBeGreaterThan(8);
    const bare = found.flatMap(([file, text]) =>
      reasonsIn(text)
        .filter((reason) => !showsExample(reason))
        .map((reason) => `${file}: ${reason}`),
    );
    expect(bare).toEqual([]);
  });

  it('an error without a value is detected', () => {
    const of = (reason: string) => reasonsIn(`throw new ConfigError([{ setting, reason: ${reason} }]);`);
    expect(of("'A is missing, set it; or B'").map(showsExample)).toEqual([false]);
    expect(of('`A is missing. Example: A=1`').map(showsExample)).toEqual([true]);
    expect(reasonsIn("const reason =\n  'A is bad; ' +\n  'Example: A=1';")).toHaveLength(1);
    expect(reasonsIn('interface P { readonly reason: string; } const reason = problems.join();')).toEqual([
      'problems.join()',
    ]);
  });
});

/** True if the reason shows a value, or states that no value is valid. */
function showsExample(reason: string): boolean {
  return /Example: |explanationOf\(|Example\}|[A-Z_]+=https:|\.map\(/.test(reason);
}

/** The expressions that a source assigns to a property named reason. */
function reasonsIn(text: string): string[] {
  const found: string[] = [];
  for (const { index, 0: begin } of text.matchAll(/\b(const reason =|reason:(?! string))\s*/g)) {
    found.push(expressionAt(text, index + begin.length));
  }
  return found;
}

/** From `from` to the end of the expression there: a comma, semicolon or bracket outside of strings and brackets. */
function expressionAt(text: string, from: number): string {
  let depth = 0;
  let quote = '';
  let at = from;
  for (; at < text.length; at += 1) {
    const c = text[at] as string;
    if (quote !== '') {
      if (c === '\\') at += 1;
      else if (c === quote) quote = '';
    } else if ('\'"`'.includes(c)) quote = c;
    else if ('([{'.includes(c)) depth += 1;
    else if (')]}'.includes(c)) depth -= 1;
    if (depth < 0 || (depth === 0 && quote === '' && ',;'.includes(c))) break;
  }
  return text.slice(from, at).trim();
}
