import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { record } from '@headset-cloud/cli/testing/recorder.ts';
import { runCtl } from '@headset-cloud/ctl/program.ts';
import { runHc } from '@headset-cloud/hc/program.ts';
import { manual, manualFiles } from '../support/manual.ts';
import { root } from './imports.ts';

const pages = [
  'README.md',
  ...manualFiles,
  'docs/configuration.md',
  'CONTRIBUTING.md',
  'services/hc/README.md',
  'services/demo/README.md',
];
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** The code of a page: blocks, and code within sentences. */
function codeOf(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/^ *```\w*\n(.*?)^ *```/gms)].map(([, text]) => text as string);
  const spans = [...markdown.replace(/^ *```.*?^ *```/gms, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, text]) => text as string,
  );
  return [...blocks.flatMap((block) => block.replace(/\\\n\s*/g, ' ').split('\n')), ...spans];
}

/** The command lines in the pages: their prefixes, and the command that prints their help. */
const commandLines = {
  ctl: {
    start: /(?:^|(?<!\bjob)\s)(?:ctl|\$CTL|services\/ctl\/src\/main\.ts) (.*)$/,
    run: (args: readonly string[]) => record((terminal) => runCtl(args, { terminal, env: {}, main: 'ctl' })),
  },
  hc: {
    start: /(?:^|\s)(?:hc|\$HC|services\/hc\/src\/main\.ts) (.*)$/,
    run: (args: readonly string[]) =>
      record((terminal) => runHc(args, { terminal, env: {}, main: 'hc', onInterrupt: () => () => {} })),
  },
} as const;
type Name = keyof typeof commandLines;

/** Command lines in a line of code, without the command itself and without a comment. */
function linesIn(name: Name, code: string): string[] {
  const found = commandLines[name].start.exec(code)?.[1];
  return found === undefined ? [] : [found.replace(/\s#.*$/, '')];
}

const helps = new Map<string, Promise<string>>();
function help(name: Name, path: readonly string[]): Promise<string> {
  const key = [name, ...path].join(' ');
  const known = helps.get(key);
  if (known) return known;
  const made = commandLines[name].run([...path, '--help']).then(({ out }) => out);
  helps.set(key, made);
  return made;
}

/** The mistake of a command line; undefined: command and options exist. */
async function mistakeIn(name: Name, line: string): Promise<string | undefined> {
  const words: string[] = line.match(/"[^"]*"|\S+/g) ?? [];
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/, ''));
  const path: string[] = [];
  for (const word of words.filter((one) => !one.startsWith('-'))) {
    const [, list] = (await help(name, path)).split(/^Commands:\n/m);
    if (list === undefined) break;
    const commands = [...list.replace(/\n\n.*/s, '').matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, one]) => one);
    // Options of the program itself precede the command.
    if (path.length === 0 && !commands.includes(word) && words.indexOf(word) > 0) continue;
    if (!commands.includes(word)) return [name, ...path, word].join(' ');
    path.push(word);
  }
  const texts = `${await help(name, [])}\n${await help(name, path)}`;
  const unknown = options.find((option) => !new RegExp(`^\\s+(-\\w, )?${option}(?![\\w-])`, 'm').test(texts));
  return unknown && [name, ...path, unknown].join(' ');
}

describe('commands that the pages name', () => {
  const code = pages.flatMap((file) => codeOf(read(file)));

  it.each([
    ['ctl', 30],
    ['hc', 10],
  ] as const)('of %s: there are such commands, with such options', async (name, least) => {
    const lines = [...new Set(code.flatMap((line) => linesIn(name, line)))];
    expect(lines.length).toBeGreaterThan(least);
    const mistakes = await Promise.all(lines.map((line) => mistakeIn(name, line)));
    expect(mistakes.filter((mistake) => mistake !== undefined)).toEqual([]);
  });

  it.each([
    ['ctl deliveries resend --dead-of A', 'ctl deliveries resend'],
    ['$CTL transactions find --older 1h  # old ones', 'ctl transactions find --older'],
    ['ctl letters list', 'ctl letters'],
    ['ctl deliveries list --status dead', 'ctl deliveries list --status'],
    ['ctl deliveries list --state dead', undefined],
    ['ctl --operator NAME', undefined],
    ['ctl --operator NAME secrets status', undefined],
    ['hc deliveries resend ID', 'hc deliveries resend'],
    ['$HC events --until 1h', 'hc events --until'],
    ['hc --profile NAME listen --forward-to URL', undefined],
    ['hc devices list --all', undefined],
  ])('%s has a mistake or none', async (line, mistake) => {
    const name = /^(ctl|\$CTL)/.test(line) ? 'ctl' : 'hc';
    const [found] = linesIn(name, line);
    expect(await mistakeIn(name, found as string)).toBe(mistake);
  });

  it('make targets exist', () => {
    const targets = new Set([...read('Makefile').matchAll(/^([a-z][\w-]*):/gm)].map(([, target]) => target));
    const named = code.flatMap((line) =>
      [...line.matchAll(/(?:^|[\s&;])make ((?:[A-Z_]+=\S+ )*)([a-z][\w-]*)/g)].map(([, , target]) => target),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((target) => !targets.has(target))).toEqual([]);
  });

  it('files in commands exist', () => {
    const files = code.flatMap(
      (line) => line.match(/(?<![\w/-])(?:services|tests|charts|gateway)\/[\w./-]+\.\w+/g) ?? [],
    );
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('metrics in the manual exist', () => {
    const sources = ['services', 'gateway'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /src\/.*(?<!\.test)\.ts$/.test(file) && !file.includes('node_modules'))
        .map((file) => read(join(folder, file))),
    );
    const made = new Set(
      sources.flatMap((text) => text.match(/'headset_\w+'/g) ?? []).map((name) => name.slice(1, -1)),
    );
    const named = manual
      .replace(
        /headset_(?:devices|transactions|device_link|notifier|updates|communication|billing|audit|connectivity)`/g,
        '',
      )
      .match(/\bheadset_[a-z_]+[a-z]/g) as string[];
    expect(named.length).toBeGreaterThan(10);
    expect(
      named.filter((name) => !made.has(name) && !made.has(name.replace(/_(count|sum|bucket)$/, ''))),
    ).toEqual([]);
  });
});
