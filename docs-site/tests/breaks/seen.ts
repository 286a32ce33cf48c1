import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from '@babel/parser';
import { exempt } from './exempt.ts';

/**
 * The evidence that no check is empty: `seen.json` names for each check the break or mutant that made it fail, behind a
 * hash of the check's text. Only a check that is new, or whose text has changed, has to be shown again.
 */
const tests = resolve(import.meta.dirname, '..');
const path = join(import.meta.dirname, 'seen.json');

type Seen = Record<string, Record<string, string>>;

const read = (): Seen => JSON.parse(readFileSync(path, 'utf8')) as Seen;

interface Call {
  /** Names that the call can give to a test. */
  readonly names: RegExp;
  /** Letters of the name that stand in the source: the call with the most of them is the test's. */
  readonly certain: number;
  readonly text: string;
}

const literal = (text: string): string => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&');

interface Node {
  readonly type?: string;
  readonly start: number;
  readonly end: number;
  readonly value?: unknown;
  readonly name?: string;
  readonly callee?: Node;
  readonly arguments?: readonly Node[];
  readonly quasis?: readonly { readonly value: { readonly cooked: string } }[];
}

/** The literal parts of a call's first argument; a variable has two empty ones. */
function partsOf({ type, value, quasis }: Node): readonly string[] {
  if (type === 'StringLiteral') return [String(value)];
  if (type === 'TemplateLiteral') return (quasis ?? []).map((one) => one.value.cooked);
  return ['', ''];
}

function callsIn(source: string): readonly Call[] {
  const found: Call[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, callee, arguments: [first] = [], start, end } = node as Node;
    const isTest = type === 'CallExpression' && callee?.type === 'Identifier' && callee.name !== 'describe';
    if (isTest && first && /^(?:StringLiteral|TemplateLiteral|Identifier)$/.test(first.type ?? '')) {
      const parts = partsOf(first);
      if (parts.join('') !== '' || /^(?:test|check|disturbed)$/.test(callee?.name ?? ''))
        found.push({
          names: new RegExp(`^${parts.map(literal).join('[^]*')}$`),
          certain: parts.join('').length,
          text: source.slice(start, end),
        });
    }
    Object.values(node).forEach(visit);
  };
  visit(parse(source, { sourceType: 'module', plugins: ['typescript'] }).program);
  return found;
}

const calls = new Map<string, readonly Call[]>();

/** A hash of the text of the call that makes the check; white space does not count. */
export function hashOfCheck(file: string, name: string, source?: string): string {
  const all = source === undefined ? calls.get(file) : callsIn(source);
  const known = all ?? callsIn(readFileSync(join(tests, file), 'utf8'));
  if (source === undefined) calls.set(file, known);
  const [call] = known.filter(({ names }) => names.test(name)).sort((a, b) => b.certain - a.certain);
  if (!call) throw new Error(`${file} has no call that makes the check "${name}"`);
  return createHash('sha256').update(call.text.replace(/\s+/g, ' ')).digest('hex').slice(0, 8);
}

export const isExempt = (file: string, name: string): boolean =>
  exempt[file] !== undefined && (exempt[file]['*'] ?? exempt[file][name]) !== undefined;

/** What stands instead of a break where a check is still to be shown; it fails no test. */
export const pending = 'still to be shown';

/** Those of a file's checks that nothing was seen to fail, as their text is now; pending ones only where asked for. */
export function unseenOf(
  file: string,
  names: readonly string[],
  { withPending = true } = {},
): readonly string[] {
  const known = read()[file] ?? {};
  return names.filter((name) => {
    if (isExempt(file, name)) return false;
    const found = known[name];
    if (found?.split(' ')[0] !== hashOfCheck(file, name)) return true;
    return withPending && found.endsWith(` ${pending}`);
  });
}

/** What made the check fail before its text was changed: the first to try again. */
export const breakOf = (file: string, name: string): string | undefined =>
  read()[file]?.[name]?.replace(/^\S+ /, '');

const sorted = <T>(all: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));

function change(edit: (seen: Seen) => Seen): void {
  const changed = sorted(edit(read()));
  const files = Object.entries(changed).map(([file, names]) => [file, sorted(names)]);
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(files), null, 2)}\n`);
}

/** These checks were seen to fail under a break or mutant. */
export function put(file: string, names: readonly string[], by: string): void {
  if (names.length === 0) return;
  const found = Object.fromEntries(names.map((name) => [name, `${hashOfCheck(file, name)} ${by}`]));
  change((seen) => ({ ...seen, [file]: { ...seen[file], ...found } }));
}

/** Forgets the checks that a file no longer has. */
export function keepOnly(file: string, names: readonly string[]): void {
  change((seen) => ({
    ...seen,
    [file]: Object.fromEntries(Object.entries(seen[file] ?? {}).filter(([name]) => names.includes(name))),
  }));
}
