import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { candidates, completionScript, shells } from './completion.ts';
import { buildProgram } from './program.ts';

const program = buildProgram({
  terminal: { out: () => {}, err: () => {} },
  env: {},
  onInterrupt: () => () => {},
});
const complete = (line: string) => candidates(program, line.split(' ').slice(1));

test.each([
  ['hc de', ['deliveries', 'devices']],
  ['hc --json tr', ['transactions', 'trigger']],
  ['hc --profile a deliveries re', ['recover', 'recovery', 'redeliver']],
  ['hc deliveries list --st', ['--state']],
  ['hc deliveries list --state d', ['dead', 'delivered']],
  ['hc devices --network ', ['offline', 'online']],
  ['hc devices --net', ['--network']],
  ['hc completion ', []],
  ['hc verify ', []],
  ['hc __', []],
])('%s is completed', (line, found) => {
  expect(complete(line)).toEqual(found);
});

test('bash completes commands, options and choices by the script', () => {
  const script = completionScript('bash', [process.execPath, join(import.meta.dirname, 'main.ts')]);
  const completed = (...words: string[]) =>
    execFileSync(
      'bash',
      [
        '-c',
        `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _hc_completion; printf '%s\\n' "\${COMPREPLY[@]}"`,
        'bash',
        ...words,
      ],
      { encoding: 'utf8' },
    )
      .trim()
      .split('\n');
  expect(completed('hc', 'de')).toEqual(['deliveries', 'devices']);
  expect(completed('hc', 'deliveries', 'list', '--state', 'r')).toEqual(['replaced']);
  expect(completed('hc', 'deliveries', 'list', '--li')).toEqual(['--limit']);
});

test('the path of hc may have blanks and quotes', () => {
  const script = completionScript('bash', ["/it's here/node", '/a b/main.ts']);
  expect(script).toContain(`'/it'\\''s here/node' '/a b/main.ts' __complete`);
});

test.each(shells)('the script is one that %s can read, where that shell is installed', (shell) => {
  const { status, error } = spawnSync(shell, ['-n'], { input: completionScript(shell, ['node', 'main.ts']) });
  expect(error ? 0 : status).toBe(0);
});
