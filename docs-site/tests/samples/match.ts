import { isDeepStrictEqual } from 'node:util';
import type { Output } from './extract.ts';

/** Compares an output with the guide. Returns a description of the differences; undefined if there are none. */
export function difference(
  shown: Pick<Output, 'format' | 'text' | 'any'>,
  output: string,
): string | undefined {
  if (shown.format !== 'json') {
    return trimmed(shown.text) === trimmed(output)
      ? undefined
      : `expected:\n${trimmed(shown.text)}\nactual:\n${trimmed(output)}`;
  }
  const expected: unknown = JSON.parse(shown.text);
  let actual: unknown;
  try {
    actual = JSON.parse(output);
  } catch {
    return `the output is not JSON:\n${output}`;
  }
  const different = [...compare(expected, actual, shown.any, '')];
  return different.length === 0 ? undefined : `${different.join('\n')}\nactual:\n${output.trim()}`;
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
      yield `${at || '/'}: expected ${JSON.stringify(expected)}, actual ${JSON.stringify(actual)}`;
    }
    return;
  }
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const path = `${at}/${name}`;
    if (!Object.hasOwn(actual, name)) yield `${path} is missing`;
    else if (!Object.hasOwn(expected, name)) yield `${path} is not in the guide`;
    else if (!any.has(name)) yield* compare(expected[name], actual[name], any, path);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
