import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { candidates, completionScript, type shells } from '@headset-cloud/cli/completion.ts';
import { buildProgram } from './program.ts';

const program = buildProgram({
  terminal: { out: () => {}, err: () => {} },
  env: {},
  main: 'hc',
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
  ['hc trigger notify-bo', ['notify-boot']],
  ['hc trigger notify-boot ', []],
  ['hc trigger --verify notify-rec', ['notify-recording']],
  ['hc events --fr', []],
  ['hc events --si', ['--since']],
  ['hc events --types notify-bo', ['notify-boot']],
  ['hc events --types notify-boot,notify-rec', ['notify-boot,notify-recording']],
  ['hc listen --types notify-boot,notify-bo', []],
  ['hc completion ', ['bash', 'fish', 'zsh']],
  ['hc completion zsh ', []],
  ['hc verify ', []],
  ['hc __', []],
])('candidates of %s', (line, found) => {
  expect(complete(line)).toEqual(found);
});

test('the script completes commands, options and choices in bash', () => {
  const script = completionScript('hc', 'bash', [process.execPath, join(import.meta.dirname, 'main.ts')]);
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

test('the path of hc may contain spaces and quotes', () => {
  const script = completionScript('hc', 'bash', ["/it's here/node", '/a b/main.ts']);
  expect(script).toContain(`'/it'\\''s here/node' '/a b/main.ts' __complete`);
});

const ofThis = (shell: (typeof shells)[number]) =>
  completionScript('hc', shell, [process.execPath, join(import.meta.dirname, 'main.ts')]);
/** Output of a shell that runs a script of lines; undefined if the shell is not installed. */
function inShell(shell: string, ...lines: readonly string[]): string[] | undefined {
  // fish does not read a pipe from Node.js as standard input.
  const folder = mkdtempSync(join(tmpdir(), 'hc-completion-'));
  try {
    const file = join(folder, 'script');
    writeFileSync(file, lines.join('\n'));
    const { error, status, stdout, stderr } = spawnSync(shell, [file], { encoding: 'utf8' });
    if (error) return undefined;
    expect([status, stderr]).toEqual([0, '']);
    return stdout.trim().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('fish completes commands and choices, and files where files are expected, if it is installed', () => {
  const found = inShell(
    'fish',
    ofThis('fish'),
    `cd '${join(import.meta.dirname, '..')}'`,
    ...['hc del', 'hc deliveries list --state d', 'hc verify READ'].map((line) => `complete -C '${line}'`),
  );
  expect(found ?? ['deliveries', 'dead', 'delivered', 'README.md']).toEqual([
    ...['deliveries', 'dead', 'delivered', 'README.md'],
  ]);
});

test('zsh completes commands and choices, and files where files are expected, if it is installed', () => {
  const found = inShell(
    'zsh',
    'compdef() { }',
    ofThis('zsh'),
    // Functions that zsh calls with the candidates.
    'compadd() { shift; print -l -- "$@"; }; _files() { print files; }',
    'words=(hc del) CURRENT=2; _hc_completion',
    'words=(hc deliveries list --state d) CURRENT=5; _hc_completion',
    "words=(hc verify '') CURRENT=3; _hc_completion",
  );
  expect(found ?? ['deliveries', 'dead', 'delivered', 'files']).toEqual([
    ...['deliveries', 'dead', 'delivered', 'files'],
  ]);
});
