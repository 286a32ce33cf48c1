import { Command } from 'commander';
import { candidates } from './completion.ts';
import { earlierName, sinceOption } from './options.ts';
import { afterOption } from './paging.ts';
import { createProgram } from './run.ts';
import { createSession } from './session.ts';

function program() {
  const [since, root] = [
    sinceOption('created since'),
    createProgram('tool', { description: '', timeoutMs: 1, more: '' }),
  ];
  const list = new Command('list')
    .addOption(since)
    .addOption(earlierName(since, '--from'))
    .addOption(afterOption().conflicts('since'))
    .copyInheritedSettings(root)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  root.addCommand(list);
  return { root, list };
}

test('an earlier name of an option sets the same value, and checks it in the same way', () => {
  const { root, list } = program();
  list.action(() => {});
  root.parse(['list', '--from', '2026-11-24'], { from: 'user' });
  expect(list.opts()).toEqual({ since: Date.UTC(2026, 10, 24) });
  for (const [option, wrong] of [
    ['--from <time>', ['--from', 'soon']],
    ['--since <time>', ['--since', 'soon']],
  ] as const) {
    expect(() => program().root.parse(['list', ...wrong], { from: 'user' })).toThrow(
      `option '${option}' argument 'soon' is invalid. It is not a time: 2h (ago;`,
    );
  }
  expect(() => program().root.parse(['list', '--after', 'x', '--from', '1h'], { from: 'user' })).toThrow(
    'cannot be used with option',
  );
});

test('help and completion show the current name only, and the options of the program', () => {
  const { root, list } = program();
  const help = list.helpInformation();
  expect(help).toContain('--since <time>');
  expect(help).not.toContain('--from');
  expect(help).toMatch(/Global Options:\n(.*\n)* +--json /);
  expect(candidates(root, ['list', '--'])).toEqual([
    '--after',
    '--help',
    '--json',
    '--since',
    '--timeout-ms',
    '--version',
  ]);
});

test.each([
  [[], 'text\n', '{"a":1}'],
  [['--json'], '{\n  "a": 1\n}\n', '{"a":1}\n'],
])('with %j a session prints an answer as text or as JSON', async (args, shown, emitted) => {
  const out: string[] = [];
  const root = createProgram('tool', { description: '', timeoutMs: 1, more: '' }).action(() => {});
  const session = createSession(root, {
    ...{ terminal: { out: (text: string) => out.push(text), err: () => {} }, env: {}, main: '' },
  });
  root.parse(args, { from: 'user' });
  session.show({ a: 1 }, () => 'text\n');
  await session.emit({ a: 1 }, JSON.stringify);
  expect(out).toEqual([shown, emitted]);
});
