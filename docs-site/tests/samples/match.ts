import { isDeepStrictEqual } from 'node:util';
import type { Output } from './extract.ts';

/** Undefined where what came is what the guide shows, else what differs. */
export function difference(shown: Pick<Output, 'format' | 'text' | 'any'>, came: string): string | undefined {
  if (shown.format !== 'json') {
    return trimmed(shown.text) === trimmed(came)
      ? undefined
      : `shown:\n${trimmed(shown.text)}\ncame:\n${trimmed(came)}`;
  }
  const expected: unknown = JSON.parse(shown.text);
  let actual: unknown;
  try {
    actual = JSON.parse(came);
  } catch {
    return `no JSON came:\n${came}`;
  }
  const different = [...compare(expected, actual, shown.any, '')];
  return different.length === 0 ? undefined : `${different.join('\n')}\ncame:\n${came.trim()}`;
}

const trimmed = (text: string): string => text.trimEnd().replace(/[ \t\r]+$/gm, '');

function* compare(
  expected: unknown,
  actual: unknown,
  any: ReadonlySet<string>,
  at: string,
): Generator<string> {
  if (!isObject(expected) || !isObject(actual) || Array.isArray(expected) !== Array.isArray(actual)) {
    if (!isDeepStrictEqual(expected, actual)) {
      yield `${at || 'the whole'}: shown ${JSON.stringify(expected)}, came ${JSON.stringify(actual)}`;
    }
    return;
  }
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const place = `${at}/${name}`;
    if (!Object.hasOwn(actual, name)) yield `${place} did not come`;
    else if (!Object.hasOwn(expected, name)) yield `${place} came, but is not shown`;
    else if (!any.has(name)) yield* compare(expected[name], actual[name], any, place);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
