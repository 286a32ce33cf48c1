import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missingTools } from '@headset-cloud/tests/support/tools.ts';
import { type Language, readGuide } from './extract.ts';
import { difference } from './match.ts';
import { runSession } from './session.ts';

// The checks themselves, each seen to fail on a seeded break; no platform is needed.

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

describe('a guide is refused with file and line', () => {
  const refused = (source: string, reason: RegExp) =>
    assert.throws(() => readGuide('seeded.mdx', source), reason);

  test('when a language is missing', () => {
    const source = block('bash', 'sample="one"', 'true') + block('js', 'sample="one"', '');
    refused(source, /^Error: seeded\.mdx:1: "one" is missing in python$/);
  });
  test('when a language is missing for no reason', () => {
    refused(block('bash', 'sample="one" alone=" "', 'true'), /alone of "one" has no reason/);
    assert.equal(
      readGuide('seeded.mdx', block('bash', 'sample="one" alone="a reason"', 'true')).samples.length,
      1,
    );
  });
  test('when a sample has no name', () => refused(block('js', 'title="x"', ''), /without sample="name"/));
  test('when norun has no reason', () =>
    refused(inAll('one', echo, 'norun=""'), /norun of "one" has no reason/));
  test('when an output belongs to no sample', () => {
    refused(block('json', 'output="two"', '{}'), /the output "two" belongs to no sample/);
  });
  test('when an output is judged by nothing', () => {
    refused(inAll('one', echo, 'norun="a reason"') + block('text', 'output="one"', 'x'), /judged by nothing/);
  });
  test('when a sample is there twice', () =>
    refused(inAll('one', echo) + inAll('one', echo), /twice in bash/));
});

const noPython = missingTools('python3') ?? false;

for (const language of ['bash', 'js', 'python'] as const) {
  describe(`a session in ${language}`, { skip: language === 'python' && noPython }, () => {
    test('passes when the shown output came', async () => {
      const source = inAll('one', echo) + block('json', 'output="one"', '{ "a": 1 }');
      assert.deepEqual(await problems(source, language), [undefined]);
    });
    test('fails when another output came', async () => {
      const source = inAll('one', echo) + block('json', 'output="one"', '{ "a": 2 }');
      assert.match((await problems(source, language))[0] ?? '', /\/a: shown 2, came 1/);
    });
    test('fails where a sample fails, and goes no further', async () => {
      const failing = {
        bash: 'false',
        js: `throw new Error('seeded');`,
        python: `raise Exception('seeded')`,
      };
      const source = inAll('one', echo) + inAll('two', failing) + inAll('three', echo);
      const [one, two, three] = await problems(source, language);
      assert.equal(one, undefined);
      assert.match(two ?? '', /ended with status 1/);
      assert.match(three ?? '', /not reached, since "two" failed/);
    });
    test('fails when a sample cannot even be read', async () => {
      const broken = { bash: 'if', js: 'const = 1;', python: 'def' };
      assert.match((await problems(inAll('one', broken), language))[0] ?? '', /ended with status/);
    });
    test('fails when a sample does not end', async () => {
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
    test('continues with what earlier samples defined', async () => {
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
      /\/b: shown 2/,
    );
  });
  test('members of any= must come', () =>
    assert.match(difference(shown('{"id":1}', 'id'), '{}') ?? '', /\/id did not come/));
  test('a member that is not shown fails', () =>
    assert.match(difference(shown('{}'), '{"new":1}') ?? '', /\/new came/));
  test('a list of another length fails', () =>
    assert.match(difference(shown('[1]'), '[1,2]') ?? '', /\/1 came/));
  test('what is no JSON fails', () => assert.match(difference(shown('{}'), 'oops') ?? '', /no JSON came/));
  test('text must be equal', () => {
    assert.equal(difference({ format: 'text', text: 'a\nb', any: new Set() }, 'a\nb\n'), undefined);
    assert.match(difference({ format: 'text', text: 'a', any: new Set() }, 'b') ?? '', /came:\nb/);
  });
});
