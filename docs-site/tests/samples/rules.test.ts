import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missingTools } from '@headset-cloud/tests/support/tools.ts';
import { type Language, readGuide } from './extract.ts';
import { difference } from './match.ts';
import { runSession } from './session.ts';

// Tests of the checks: each must fail on a seeded error. They need no platform.

const block = (language: string, meta: string, ...code: string[]): string =>
  ['```'.concat(language, ' ', meta), ...code, '```', ''].join('\n');
const inAll = (name: string, code: Readonly<Record<Language, string>>, meta = ''): string =>
  Object.entries(code)
    .map(([language, text]) => block(language, `sample="${name}" ${meta}`, text))
    .join('\n');
const echo = { bash: `echo '{"a":1}'`, js: `console.log('{"a":1}');`, python: `print('{"a":1}')` };

async function problems(source: string, language: Language, deadlineMs = 60_000) {
  const outcomes = await runSession(readGuide('seeded.mdx', source), language, {}, { deadlineMs });
  return outcomes.map(({ problem }) => problem);
}

describe('a guide is rejected with file and line', () => {
  const rejects = (source: string, reason: RegExp) =>
    assert.throws(() => readGuide('seeded.mdx', source), reason);

  test('when a language is missing', () => {
    const source = block('bash', 'sample="one"', 'true') + block('js', 'sample="one"', '');
    rejects(source, /^Error: seeded\.mdx:1: "one" is missing in python$/);
  });
  test('when a language is missing without a reason', () => {
    rejects(block('bash', 'sample="one" alone=" "', 'true'), /alone of "one" has no reason/);
    assert.equal(
      readGuide('seeded.mdx', block('bash', 'sample="one" alone="a reason"', 'true')).samples.length,
      1,
    );
  });
  test('when a sample has no name', () => rejects(block('js', 'title="x"', ''), /without sample="name"/));
  test('when norun has no reason', () =>
    rejects(inAll('one', echo, 'norun=""'), /norun of "one" has no reason/));
  test('when an output belongs to no sample', () => {
    rejects(block('json', 'output="two"', '{}'), /the output "two" belongs to no sample/);
  });
  test('when an output is never checked', () => {
    rejects(inAll('one', echo, 'norun="a reason"') + block('text', 'output="one"', 'x'), /is never checked/);
  });
  test('when a sample appears twice', () =>
    rejects(inAll('one', echo) + inAll('one', echo), /twice in bash/));
});

const noPython = missingTools('python3') ?? false;

for (const language of ['bash', 'js', 'python'] as const) {
  describe(`a session in ${language}`, { skip: language === 'python' && noPython }, () => {
    test('passes if the output is equal', async () => {
      const source = inAll('one', echo) + block('json', 'output="one"', '{ "a": 1 }');
      assert.deepEqual(await problems(source, language), [undefined]);
    });
    test('fails if the output differs', async () => {
      const source = inAll('one', echo) + block('json', 'output="one"', '{ "a": 2 }');
      assert.match((await problems(source, language))[0] ?? '', /\/a: expected 2, actual 1/);
    });
    test('fails at a sample that fails, and runs no later sample', async () => {
      const failing = {
        bash: 'false',
        js: `throw new Error('seeded');`,
        python: `raise Exception('seeded')`,
      };
      const source = inAll('one', echo) + inAll('two', failing) + inAll('three', echo);
      const [one, two, three] = await problems(source, language);
      assert.equal(one, undefined);
      assert.match(two ?? '', /ended with status 1/);
      assert.match(three ?? '', /not reached, because "two" failed/);
    });
    test('fails if a sample has a syntax error', async () => {
      const broken = { bash: 'if', js: 'const = 1;', python: 'def' };
      assert.match((await problems(inAll('one', broken), language))[0] ?? '', /ended with status/);
    });
    test('fails if a sample does not end', async () => {
      const endless = {
        bash: 'while true; do read -t 1 < /dev/zero || true; done',
        js: "(await import('node:net')).createServer().listen(0); await new Promise(() => {});",
        python: 'import threading; threading.Event().wait()',
      };
      assert.match(
        (await problems(inAll('one', endless), language, 1000))[0] ?? '',
        /did not end within 1 s/,
      );
    });
    test('a sample can use definitions of earlier samples', async () => {
      const first = { bash: 'value=7', js: 'const value = 7;', python: 'value = 7' };
      const second = { bash: 'echo "$value"', js: 'console.log(value);', python: 'print(value)' };
      const source = inAll('one', first) + inAll('two', second) + block('text', 'output="two"', '7');
      assert.deepEqual(await problems(source, language), [undefined, undefined]);
    });
  });
}

describe('outputs', () => {
  const shown = (text: string, ...any: string[]) => ({ format: 'json', text, any: new Set(any) });

  test('members of any= may differ at every depth, others may not', () => {
    assert.equal(difference(shown('{"a":{"id":1},"b":2}', 'id'), '{"a":{"id":9},"b":2}'), undefined);
    assert.match(
      difference(shown('{"a":{"id":1},"b":2}', 'id'), '{"a":{"id":9},"b":3}') ?? '',
      /\/b: expected 2/,
    );
  });
  test('members of any= must exist', () =>
    assert.match(difference(shown('{"id":1}', 'id'), '{}') ?? '', /\/id is missing/));
  test('an unexpected member fails', () =>
    assert.match(difference(shown('{}'), '{"new":1}') ?? '', /\/new is not in the guide/));
  test('a list of another length fails', () =>
    assert.match(difference(shown('[1]'), '[1,2]') ?? '', /\/1 is not in the guide/));
  test('an output that is not JSON fails', () =>
    assert.match(difference(shown('{}'), 'oops') ?? '', /is not JSON/));
  test('text must be equal', () => {
    assert.equal(difference({ format: 'text', text: 'a\nb', any: new Set() }, 'a\nb\n'), undefined);
    assert.match(difference({ format: 'text', text: 'a', any: new Set() }, 'b') ?? '', /actual:\nb/);
  });
});
